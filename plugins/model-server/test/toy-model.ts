import { IM_END, IM_START, tokenize, VOCABULARY_SIZE } from './toy-tokenizer.ts'

/** So much above the other logits that, at the default temperature, another token is chosen less than once in a million. */
const STRONG = 14

/**
 * Echo model over bytes. For a conversation it repeats the last user message once; for a raw prompt it repeats the
 * first line endlessly. `next(generated)` returns the logits of the token after the prompt and the generated tokens.
 */
export function echoModel(prompt: readonly number[]): { next(generated: readonly number[]): Float32Array } {
  const answer = lastTurn(prompt, 'assistant')
  const question = lastTurn(prompt, 'user')
  const line = prompt.slice(0, prompt.indexOf(10) + 1 || prompt.length)
  const argmax = (generated: readonly number[]): number => {
    if (question === null || answer === null) return line[(prompt.length + generated.length) % line.length] ?? IM_END
    return question[answer.length + generated.length] ?? IM_END
  }
  return {
    next(generated) {
      const logits = new Float32Array(VOCABULARY_SIZE)
      // Small logits that depend on the last token, so that a high temperature varies the text.
      const last = generated.at(-1) ?? prompt.at(-1) ?? 0
      for (let token = 0; token < 256; token++) logits[token] = Math.sin(token * 12.9898 + last * 78.233)
      logits[argmax(generated)] = STRONG
      return logits
    }
  }
}

/** Returns the tokens of the last turn of a role, up to its end token or the end of the prompt. */
function lastTurn(tokens: readonly number[], role: string): readonly number[] | null {
  const header = [IM_START, ...tokenize(`${role}\n`, false)]
  for (let at = tokens.length - header.length; at >= 0; at--) {
    if (!header.every((token, i) => tokens[at + i] === token)) continue
    const start = at + header.length
    const end = tokens.indexOf(IM_END, start)
    return tokens.slice(start, end < 0 ? undefined : end)
  }
  return null
}
