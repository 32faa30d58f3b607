"""Bytes on disk: immutable Arrow blobs, in growing files when small and in files of their own when large."""

from waterclock.storage.blobs import Blob, Damaged, encode, load, read, scan, write_frame
from waterclock.storage.growing import GrowingFile

__all__ = ["Blob", "Damaged", "GrowingFile", "encode", "load", "read", "scan", "write_frame"]
