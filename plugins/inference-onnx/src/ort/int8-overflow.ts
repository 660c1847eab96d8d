import { readFileSync } from 'node:fs'

/**
 * True if the fast product of uint8 and int8 may overflow on this CPU, as on x64 without VNNI, or if the system
 * does not report its features.
 */
export function int8Overflows(): boolean {
  if (process.arch !== 'x64') return false
  try {
    return !/\b(avx512_vnni|avx_vnni)\b/.test(readFileSync('/proc/cpuinfo', 'utf8'))
  } catch {
    return true
  }
}
