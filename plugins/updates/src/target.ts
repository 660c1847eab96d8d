const TRIPLES: Readonly<Record<string, string>> = {
  'linux x64': 'x86_64-unknown-linux-gnu',
  'win32 x64': 'x86_64-pc-windows-msvc',
  'darwin x64': 'x86_64-apple-darwin',
  'darwin arm64': 'aarch64-apple-darwin'
}

/** Returns the target triple of a machine; null if releases have no archive for it. */
export function targetTriple(platform: string = process.platform, arch: string = process.arch): string | null {
  return TRIPLES[`${platform} ${arch}`] ?? null
}
