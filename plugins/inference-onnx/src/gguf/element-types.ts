import type { Dtype } from '../safetensors.ts'

/** Encodings of weights in blocks, which are decoded to F32. */
export type BlockEncoding =
  | 'Q4_0'
  | 'Q4_1'
  | 'Q5_0'
  | 'Q5_1'
  | 'Q8_0'
  | 'Q2_K'
  | 'Q3_K'
  | 'Q4_K'
  | 'Q5_K'
  | 'Q6_K'
  | 'IQ4_NL'
  | 'IQ4_XS'

export interface BlockSize {
  /** Number of weights of a block; rows consist of whole blocks. */
  readonly weights: number
  readonly bytes: number
}

export const blockSizes: Readonly<Record<BlockEncoding, BlockSize>> = {
  Q4_0: { weights: 32, bytes: 18 },
  Q4_1: { weights: 32, bytes: 20 },
  Q5_0: { weights: 32, bytes: 22 },
  Q5_1: { weights: 32, bytes: 24 },
  Q8_0: { weights: 32, bytes: 34 },
  Q2_K: { weights: 256, bytes: 84 },
  Q3_K: { weights: 256, bytes: 110 },
  Q4_K: { weights: 256, bytes: 144 },
  Q5_K: { weights: 256, bytes: 176 },
  Q6_K: { weights: 256, bytes: 210 },
  IQ4_NL: { weights: 32, bytes: 18 },
  IQ4_XS: { weights: 256, bytes: 136 }
}

/** Element type of a tensor in a GGUF file. */
export interface ElementType extends BlockSize {
  readonly dtype: Dtype
  readonly encoding: BlockEncoding | null
}

/** Names of the element types by number: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
const names: Readonly<Record<number, string>> = {
  0: 'F32',
  1: 'F16',
  2: 'Q4_0',
  3: 'Q4_1',
  6: 'Q5_0',
  7: 'Q5_1',
  8: 'Q8_0',
  9: 'Q8_1',
  10: 'Q2_K',
  11: 'Q3_K',
  12: 'Q4_K',
  13: 'Q5_K',
  14: 'Q6_K',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  20: 'IQ4_NL',
  21: 'IQ3_S',
  22: 'IQ2_S',
  23: 'IQ4_XS',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  29: 'IQ1_M',
  30: 'BF16',
  34: 'TQ1_0',
  35: 'TQ2_0',
  39: 'MXFP4'
}

const plain: Readonly<Record<string, ElementType>> = {
  F32: { dtype: 'F32', encoding: null, weights: 1, bytes: 4 },
  F16: { dtype: 'F16', encoding: null, weights: 1, bytes: 2 },
  BF16: { dtype: 'BF16', encoding: null, weights: 1, bytes: 2 }
}

export const supportedTypes: readonly string[] = [...Object.keys(plain), ...Object.keys(blockSizes)]

/** Returns the name of an element type; its number if it is unknown. */
export function elementTypeName(type: number): string {
  return names[type] ?? `number ${type}`
}

/** Returns an element type by number; null if it is not supported. */
export function elementType(type: number): ElementType | null {
  const name = names[type] ?? ''
  if (Object.hasOwn(plain, name)) return plain[name] ?? null
  if (!Object.hasOwn(blockSizes, name)) return null
  const encoding = name as BlockEncoding
  return { dtype: 'F32', encoding, ...blockSizes[encoding] }
}
