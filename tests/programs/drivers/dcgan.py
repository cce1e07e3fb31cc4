"""pytorch/examples dcgan: main.py on fake pictures, narrow networks."""

from _driver import brightness, norms, numbers, report, script, stand_ins

stand_ins()
said = script(
    "dcgan/main.py", "--dataset=fake", "--workers=0", "--batchSize=16", "--ngf=8", "--ndf=8", "--nz=20", "--niter=1",
    "--manualSeed=5",
)  # fmt: skip
found = numbers(r"(?:Loss_D|Loss_G|D\(x\)): ([\d.]+)", said)
found += map(brightness, ("real_samples.png", "fake_samples_epoch_000.png"))
report([*found, *norms("netG_epoch_0.pth", unless="bias"), *norms("netD_epoch_0.pth", unless="bias")])
