import type { Dtype } from '../safetensors.ts'

let halfTable: Uint32Array<ArrayBuffer> | undefined

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
  const table = halfBits()
  for (let i = 0; i < halves.length; i++) bits[i] = table[halves[i] as number] as number
}

/** Returns the values of all binary16 numbers, by their bits. */
export function halfValues(): Float32Array {
  return new Float32Array(halfBits().buffer)
}

/** Returns `values` in binary16, rounded to nearest, ties to even; values that are too large become infinity. */
export function toHalf(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  const halves = new Uint16Array(bits.length)
  for (let i = 0; i < bits.length; i++) halves[i] = floatToHalf(bits[i] as number)
  return halves
}

function halfBits(): Uint32Array<ArrayBuffer> {
  halfTable ??= Uint32Array.from({ length: 65536 }, (_, half) => halfToFloatBits(half))
  return halfTable
}

/** Converts binary32 to binary16, as bits. */
function floatToHalf(bits: number): number {
  const sign = (bits >>> 16) & 0x8000
  const magnitude = bits & 0x7fffffff
  if (magnitude > 0x7f800000) return sign | 0x7e00
  // 65520 is the smallest magnitude that rounds to infinity.
  if (magnitude >= 0x477ff000) return sign | 0x7c00
  // From 2^-14 on, numbers are normal: the exponent changes by 112, and 13 bits of the fraction are rounded away.
  if (magnitude >= 0x38800000) {
    const rounded = magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)
    return sign | (rounded >>> 13)
  }
  // Subnormal: multiples of 2^-24. Below 2^-25, all numbers round to zero.
  if (magnitude < 0x33000000) return sign
  const fraction = (magnitude & 0x7fffff) | 0x800000
  const shift = 126 - (magnitude >>> 23)
  const half = 1 << (shift - 1)
  const quotient = fraction >>> shift
  const rest = fraction & ((1 << shift) - 1)
  return sign | (quotient + (rest > half || (rest === half && (quotient & 1) === 1) ? 1 : 0))
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
