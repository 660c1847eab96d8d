import type { LoadedModel } from '@svc/contracts'
import { errors } from '../errors.ts'
import { fillTokens } from '../fill-in-the-middle.ts'

/** Code around a gap, and parts of other files. */
export interface InfillText {
  readonly prefix: string
  readonly suffix: string
  readonly extra: readonly { readonly filename: string; readonly text: string }[]
}

export interface InfillPrompt {
  readonly tokens: readonly number[]
  /** True if the context has no room for the whole text. */
  readonly truncated: boolean
}

/** Maximum tokens of prefix and suffix together; the default of llama.cpp. A quarter of them is for the suffix. */
const MAX_LOCAL_TOKENS = 2048
/** Upper bound on the mean number of characters per token, for any vocabulary. */
const CHARACTERS_PER_TOKEN = 32
/** Placeholders of llama.cpp: the API does not transmit the names. */
const REPOSITORY_NAME = 'myproject\n'
const FILE_NAME = 'filename\n'
const SNIPPET = '\n\n--- snippet ---\n\n'

/**
 * Returns the tokens of a prompt in llama.cpp's form: parts of other files, then the code before and after the gap. Keeps
 * the text that is nearest to the gap, so that `maxTokens` tokens of the context remain for the answer. Special tokens in
 * the text are escaped. Throws `MSV_UNSUPPORTED` if the vocabulary has no tokens for a gap.
 */
export function infillPrompt(model: LoadedModel, name: string, text: InfillText, maxTokens: number): InfillPrompt {
  const marks = fillTokens(model)
  if (marks === undefined) {
    const message = `model '${name}' cannot fill in the middle: its vocabulary has no tokens for it, such as <|fim_prefix|>`
    throw errors.create('MSV_UNSUPPORTED', message, {
      data: { param: 'input_suffix' },
      hint: 'Serve a code model that has such tokens, or use /v1/completions.'
    })
  }
  const begin = model.tokenize('', { special: true, begin: true })
  const marksLength = begin.length + 3
  const room = model.info.contextLength - maxTokens - marksLength
  const local = Math.max(4, Math.min(MAX_LOCAL_TOKENS, room))
  const prefix = tail(model, text.prefix, local - Math.floor(local / 4))
  const suffix = head(model, text.suffix, Math.floor(local / 4))
  const extra = extraTokens(model, text.extra, marks, room - prefix.tokens.length - suffix.tokens.length)
  return {
    tokens: [...extra.tokens, ...begin, marks.prefix, ...prefix.tokens, marks.suffix, ...suffix.tokens, marks.middle],
    truncated: extra.truncated || prefix.truncated || suffix.truncated
  }
}

/** Returns the tokens of parts of other files; drops their beginning if they exceed `room` tokens. */
function extraTokens(
  model: LoadedModel,
  extra: InfillText['extra'],
  { repository, file }: { readonly repository: number | undefined; readonly file: number | undefined },
  room: number
): InfillPrompt {
  const plain = (text: string) => model.tokenize(text)
  const current = file === undefined ? [] : [file, ...plain(FILE_NAME)]
  let tokens: readonly number[] = current
  let truncated = false
  // From the last part, which is nearest to the gap, so that no more text is tokenised than fits.
  for (const { filename, text } of extra.toReversed()) {
    const part = tail(model, text, Math.max(0, room - tokens.length))
    const title = file === undefined ? plain(SNIPPET) : [file, ...plain(`${filename}\n`)]
    tokens = [...title, ...part.tokens, ...tokens]
    truncated = part.truncated || tokens.length > room
    if (truncated) break
  }
  if (repository !== undefined) tokens = [repository, ...plain(REPOSITORY_NAME), ...tokens]
  const cut = Math.max(0, tokens.length - Math.max(0, room))
  return { tokens: tokens.slice(cut), truncated: truncated || cut > 0 }
}

function tail(model: LoadedModel, text: string, max: number): InfillPrompt {
  const end = max <= 0 ? '' : text.slice(-max * CHARACTERS_PER_TOKEN)
  const tokens = model.tokenize(end)
  return { tokens: max <= 0 ? [] : tokens.slice(-max), truncated: end.length < text.length || tokens.length > max }
}

function head(model: LoadedModel, text: string, max: number): InfillPrompt {
  const beginning = text.slice(0, max * CHARACTERS_PER_TOKEN)
  const tokens = model.tokenize(beginning)
  return { tokens: tokens.slice(0, max), truncated: beginning.length < text.length || tokens.length > max }
}
