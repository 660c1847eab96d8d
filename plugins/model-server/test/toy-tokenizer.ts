/** Special tokens, numbered from 256; the bytes are tokens 0 to 255. */
export const SPECIAL = ['<|im_start|>', '<|im_end|>', '<|endoftext|>'] as const
export const [IM_START, IM_END, END_OF_TEXT] = [256, 257, 258] as const
export const VOCABULARY_SIZE = 256 + SPECIAL.length

export function tokenize(text: string, special: boolean): number[] {
  if (!special) return [...Buffer.from(text)]
  const parts = text.split(/(<\|im_start\|>|<\|im_end\|>|<\|endoftext\|>)/)
  return parts.flatMap(part => {
    const at = SPECIAL.indexOf(part as (typeof SPECIAL)[number])
    return at < 0 ? [...Buffer.from(part)] : [256 + at]
  })
}

export function detokenize(tokens: readonly number[]): string {
  let text = ''
  let bytes: number[] = []
  const flush = () => {
    text += Buffer.from(bytes).toString('utf8')
    bytes = []
  }
  for (const token of tokens) {
    if (token < 256) bytes.push(token)
    else {
      flush()
      text += SPECIAL[token - 256]
    }
  }
  flush()
  return text
}
