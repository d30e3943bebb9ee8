# SPDX-License-Identifier: Apache-2.0
import dlc, torch, torchvision

train, val = "pictures/train", "pictures/val"  # a folder of JPEG or PNG for each class
model = torchvision.models.resnet18()  # weights="DEFAULT": those of ImageNet
model.fc = torch.nn.Linear(512, 3)  # classes
dlc.from_torch(model, torch.rand(8, 3, 64, 64), "pictures.dlc", optimizer="adamw", lr=0.001)
run = dlc.Trainer("pictures.dlc", data=train, val=val, epochs=4).run()
print(f"accuracy {run.history['val_accuracy'][-1]:.2f}, see", run.report("report.html"))
dlc.Session(run.folder).load_into(model)  # the trained weights, in PyTorch
