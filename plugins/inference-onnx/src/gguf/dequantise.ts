import { halfValues } from '../weights/convert.ts'
import { type BlockEncoding, blockSizes } from './element-types.ts'

/** Decodes the block of `bytes` at `from` to `target` at `to`. */
type BlockDecoder = (bytes: Uint8Array, from: number, target: Float32Array, to: number, half: HalfReader) => void
type HalfReader = (bytes: Uint8Array, at: number) => number

const BLOCK = 32

/**
 * Decodes whole blocks to F32. Products are rounded to single precision before a minimum is added, so results equal
 * those of the reference implementation, `gguf/quants.py` of llama.cpp, in every bit.
 */
export function dequantise(encoding: BlockEncoding, bytes: Uint8Array, target: Float32Array): void {
  const { weights, bytes: blockBytes } = blockSizes[encoding]
  const values = halfValues()
  const half: HalfReader = (source, at) => values[(source[at] as number) | ((source[at + 1] as number) << 8)] as number
  const decode = decoders[encoding]
  for (let from = 0, to = 0; to < target.length; from += blockBytes, to += weights) {
    decode(bytes, from, target, to, half)
  }
}

const decoders: Readonly<Record<BlockEncoding, BlockDecoder>> = {
  Q4_0: (bytes, from, target, to, half) => {
    const scale = half(bytes, from)
    for (let i = 0; i < BLOCK / 2; i++) {
      const pair = bytes[from + 2 + i] as number
      target[to + i] = scale * ((pair & 15) - 8)
      target[to + i + 16] = scale * ((pair >> 4) - 8)
    }
  },
  Q4_1: (bytes, from, target, to, half) => {
    const [scale, minimum] = [half(bytes, from), half(bytes, from + 2)]
    for (let i = 0; i < BLOCK / 2; i++) {
      const pair = bytes[from + 4 + i] as number
      target[to + i] = Math.fround(scale * (pair & 15)) + minimum
      target[to + i + 16] = Math.fround(scale * (pair >> 4)) + minimum
    }
  },
  Q5_0: (bytes, from, target, to, half) => {
    const scale = half(bytes, from)
    for (let i = 0; i < BLOCK / 2; i++) {
      const pair = bytes[from + 6 + i] as number
      target[to + i] = scale * (((pair & 15) | (bit(bytes, from + 2, i) << 4)) - 16)
      target[to + i + 16] = scale * (((pair >> 4) | (bit(bytes, from + 2, i + 16) << 4)) - 16)
    }
  },
  Q5_1: (bytes, from, target, to, half) => {
    const [scale, minimum] = [half(bytes, from), half(bytes, from + 2)]
    for (let i = 0; i < BLOCK / 2; i++) {
      const pair = bytes[from + 8 + i] as number
      target[to + i] = Math.fround(scale * ((pair & 15) | (bit(bytes, from + 4, i) << 4))) + minimum
      target[to + i + 16] = Math.fround(scale * ((pair >> 4) | (bit(bytes, from + 4, i + 16) << 4))) + minimum
    }
  },
  Q8_0: (bytes, from, target, to, half) => {
    const scale = half(bytes, from)
    for (let i = 0; i < BLOCK; i++) target[to + i] = scale * signed(bytes[from + 2 + i] as number)
  },
  Q2_K: (bytes, from, target, to, half) => {
    const [scale, minimumScale] = [half(bytes, from + 80), half(bytes, from + 82)]
    for (let group = 0; group < 16; group++) {
      const both = bytes[from + group] as number
      const step = Math.fround(scale * (both & 15))
      const minimum = Math.fround(minimumScale * (both >> 4))
      const [start, shift] = pairsOf(group)
      for (let i = 0; i < 16; i++) {
        const quant = ((bytes[from + 16 + start + i] as number) >> shift) & 3
        target[to + group * 16 + i] = Math.fround(step * quant) - minimum
      }
    }
  },
  Q3_K: (bytes, from, target, to, half) => {
    const scale = half(bytes, from + 108)
    for (let group = 0; group < 16; group++) {
      const low = ((bytes[from + 96 + (group & 7)] as number) >> ((group >> 3) * 4)) & 15
      const high = ((bytes[from + 104 + (group & 3)] as number) >> ((group >> 2) * 2)) & 3
      const step = Math.fround(scale * ((low | (high << 4)) - 32))
      const [start, shift] = pairsOf(group)
      for (let i = 0; i < 16; i++) {
        const pair = ((bytes[from + 32 + start + i] as number) >> shift) & 3
        const third = ((bytes[from + (group & 1) * 16 + i] as number) >> (group >> 1)) & 1
        target[to + group * 16 + i] = step * (pair - (third === 1 ? 0 : 4))
      }
    }
  },
  Q4_K: (bytes, from, target, to, half) => {
    const [scale, minimumScale] = [half(bytes, from), half(bytes, from + 2)]
    for (let group = 0; group < 8; group++) {
      const step = Math.fround(scale * groupScale(bytes, from + 4, group))
      const minimum = Math.fround(minimumScale * groupMinimum(bytes, from + 4, group))
      const [start, shift] = [from + 16 + (group >> 1) * 32, (group & 1) * 4]
      for (let i = 0; i < 32; i++) {
        target[to + group * 32 + i] = Math.fround(step * (((bytes[start + i] as number) >> shift) & 15)) - minimum
      }
    }
  },
  Q5_K: (bytes, from, target, to, half) => {
    const [scale, minimumScale] = [half(bytes, from), half(bytes, from + 2)]
    const high = from + 16
    for (let group = 0; group < 8; group++) {
      const step = Math.fround(scale * groupScale(bytes, from + 4, group))
      const minimum = Math.fround(minimumScale * groupMinimum(bytes, from + 4, group))
      const [start, shift] = [from + 48 + (group >> 1) * 32, (group & 1) * 4]
      for (let i = 0; i < 32; i++) {
        const low = ((bytes[start + i] as number) >> shift) & 15
        const quant = low | ((((bytes[high + i] as number) >> group) & 1) << 4)
        target[to + group * 32 + i] = Math.fround(step * quant) - minimum
      }
    }
  },
  Q6_K: (bytes, from, target, to, half) => {
    const scale = half(bytes, from + 208)
    for (let group = 0; group < 8; group++) {
      const [part, quarter] = [group >> 2, group & 3]
      const [low, lowShift] = [from + part * 64 + (quarter & 1) * 32, (quarter >> 1) * 4]
      const [high, highShift] = [from + 128 + part * 32, quarter * 2]
      for (let i = 0; i < 32; i++) {
        const quant =
          (((bytes[low + i] as number) >> lowShift) & 15) | ((((bytes[high + i] as number) >> highShift) & 3) << 4)
        const step = Math.fround(scale * signed(bytes[from + 192 + group * 2 + (i >> 4)] as number))
        target[to + group * 32 + i] = step * (quant - 32)
      }
    }
  },
  IQ4_NL: (bytes, from, target, to, half) => unevenGroup(bytes, from + 2, target, to, half(bytes, from)),
  IQ4_XS: (bytes, from, target, to, half) => {
    const scale = half(bytes, from)
    const highs = (bytes[from + 2] as number) | ((bytes[from + 3] as number) << 8)
    for (let group = 0; group < 8; group++) {
      const low = ((bytes[from + 4 + (group >> 1)] as number) >> ((group & 1) * 4)) & 15
      const high = (highs >> (group * 2)) & 3
      const step = Math.fround(scale * ((low | (high << 4)) - 32))
      unevenGroup(bytes, from + 8 + group * 16, target, to + group * 32, step)
    }
  }
}

/** Values of 4 bits that are not at equal distances. */
const UNEVEN = Int8Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)

/** Decodes 32 weights of uneven values. */
function unevenGroup(bytes: Uint8Array, from: number, target: Float32Array, to: number, step: number): void {
  for (let i = 0; i < BLOCK / 2; i++) {
    const pair = bytes[from + i] as number
    target[to + i] = step * (UNEVEN[pair & 15] as number)
    target[to + i + 16] = step * (UNEVEN[pair >> 4] as number)
  }
}

/** Returns where the two bits of each weight of a group of 16 are: the first byte, and the position of the bits. */
function pairsOf(group: number): readonly [byte: number, shift: number] {
  return [(group >> 3) * 32 + (group & 1) * 16, ((group >> 1) & 3) * 2]
}

function signed(byte: number): number {
  return (byte << 24) >> 24
}

function bit(bytes: Uint8Array, from: number, index: number): number {
  return ((bytes[from + (index >> 3)] as number) >> (index & 7)) & 1
}

/** Scales and minima have 6 bits; the upper bits of the last four are in the first eight bytes. */
function groupScale(bytes: Uint8Array, from: number, group: number): number {
  if (group < 4) return (bytes[from + group] as number) & 63
  return ((bytes[from + group + 4] as number) & 15) | (((bytes[from + group - 4] as number) >> 2) & 48)
}

function groupMinimum(bytes: Uint8Array, from: number, group: number): number {
  if (group < 4) return (bytes[from + group + 4] as number) & 63
  return ((bytes[from + group + 4] as number) >> 4) | (((bytes[from + group] as number) >> 2) & 48)
}
