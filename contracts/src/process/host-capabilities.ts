/** Architecture names of the mesh, by the different names of Node.js. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: 'x86_64',
  ia32: 'x86',
  arm64: 'aarch64',
  loong64: 'loongarch64',
  ppc64: 'powerpc64'
}

/** Returns the name of an architecture in capabilities, such as `x86_64`. `arch`: as in `process.arch`. */
export function architectureName(arch: string): string {
  return ARCHITECTURES[arch] ?? arch
}

/** Returns the mebibytes of a declared GPU; undefined unless SVC_GPU_MODEL and SVC_GPU_VRAM_MB are both set. */
export function declaredGpuMemory(environment: Readonly<Record<string, string | undefined>>): number | undefined {
  const { SVC_GPU_MODEL: model, SVC_GPU_VRAM_MB: memory } = environment
  const megabytes = Number(memory)
  return model && Number.isSafeInteger(megabytes) && megabytes > 0 ? megabytes : undefined
}
