import { readFileSync } from 'node:fs'

/**
 * Whether the fast product of uint8 and int8 may overflow on this processor, as it does on x64 without VNNI. Where the
 * system does not tell, it is taken to.
 */
export function int8Overflows(): boolean {
  if (process.arch !== 'x64') return false
  try {
    return !/\b(avx512_vnni|avx_vnni)\b/.test(readFileSync('/proc/cpuinfo', 'utf8'))
  } catch {
    return true
  }
}
