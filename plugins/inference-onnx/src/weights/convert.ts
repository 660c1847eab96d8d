import type { Dtype } from '../safetensors.ts'

let halfTable: Uint32Array | undefined

/** Returns the bytes per element of a readable element type. */
export function elementBytes(dtype: Dtype): number {
  return dtype === 'F32' ? 4 : 2
}

/** Converts little-endian F32, BF16 or F16 `bytes` to `target` without loss. */
export function widen(dtype: Dtype, bytes: Uint8Array, target: Float32Array): void {
  const bits = new Uint32Array(target.buffer, target.byteOffset, target.length)
  if (dtype === 'F32') {
    new Uint8Array(target.buffer, target.byteOffset, target.byteLength).set(bytes)
    return
  }
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, target.length)
  if (dtype === 'BF16') {
    for (let i = 0; i < halves.length; i++) bits[i] = (halves[i] as number) << 16
    return
  }
  halfTable ??= Uint32Array.from({ length: 65536 }, (_, half) => halfToFloatBits(half))
  for (let i = 0; i < halves.length; i++) bits[i] = halfTable[halves[i] as number] as number
}

/** Converts IEEE 754 binary16 to binary32, as bits. */
function halfToFloatBits(half: number): number {
  const sign = (half & 0x8000) << 16
  const exponent = (half >> 10) & 0x1f
  const fraction = half & 0x3ff
  if (exponent === 0x1f) return (sign | 0x7f800000 | (fraction << 13)) >>> 0
  if (exponent !== 0) return (sign | ((exponent + 112) << 23) | (fraction << 13)) >>> 0
  if (fraction === 0) return sign >>> 0
  // Subnormal: the value is fraction * 2^-24, which is a normal number in binary32.
  const shift = Math.clz32(fraction) - 21
  return (sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13)) >>> 0
}
