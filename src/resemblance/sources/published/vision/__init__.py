"""Vision models of the ReSi paper on CIFAR-100 and ImageNet-100."""
