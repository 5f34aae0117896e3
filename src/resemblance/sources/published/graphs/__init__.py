"""Graph networks of the ReSi paper on Cora, Flickr and OGBN-Arxiv."""
