const ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]
const CHECKSUM_LENGTH = 6

/** Encodes bytes as Bech32 (BIP 173), in lower case. */
export function encodeBech32(prefix: string, bytes: Uint8Array): string {
  const values = regroup([...bytes], 8, 5, true) as number[]
  const sum = polymod([...expanded(prefix), ...values, ...Array<number>(CHECKSUM_LENGTH).fill(0)]) ^ 1
  const checksum = Array.from({ length: CHECKSUM_LENGTH }, (_, index) => (sum >>> (5 * (5 - index))) & 31)
  return `${prefix}1${[...values, ...checksum].map(value => ALPHABET[value]).join('')}`
}

/** Decodes Bech32 with a prefix; null if the text is anything else. */
export function decodeBech32(prefix: string, given: string): Buffer | null {
  if (given !== given.toLowerCase() && given !== given.toUpperCase()) return null
  const text = given.toLowerCase()
  if (!text.startsWith(`${prefix}1`)) return null
  const values = [...text.slice(prefix.length + 1)].map(character => ALPHABET.indexOf(character))
  if (values.length < CHECKSUM_LENGTH || values.includes(-1)) return null
  if (polymod([...expanded(prefix), ...values]) !== 1) return null
  const bytes = regroup(values.slice(0, -CHECKSUM_LENGTH), 5, 8, false)
  return bytes === null ? null : Buffer.from(bytes)
}

function expanded(prefix: string): number[] {
  const codes = [...prefix].map(character => character.charCodeAt(0))
  return [...codes.map(code => code >>> 5), 0, ...codes.map(code => code & 31)]
}

function polymod(values: readonly number[]): number {
  let sum = 1
  for (const value of values) {
    const top = sum >>> 25
    sum = ((sum & 0x1ffffff) << 5) ^ value
    for (const [bit, factor] of GENERATOR.entries()) if (((top >>> bit) & 1) === 1) sum ^= factor
  }
  return sum >>> 0
}

/** Regroups bits; null if bits are left over that are not padding. */
function regroup(values: readonly number[], from: number, to: number, pads: boolean): number[] | null {
  const result: number[] = []
  let [bits, held] = [0, 0]
  for (const value of values) {
    held = ((held << from) | value) & 0xfff
    bits += from
    while (bits >= to) {
      bits -= to
      result.push((held >>> bits) & ((1 << to) - 1))
    }
  }
  const rest = (held << (to - bits)) & ((1 << to) - 1)
  if (pads) return bits > 0 ? [...result, rest] : result
  return bits >= from || rest !== 0 ? null : result
}
