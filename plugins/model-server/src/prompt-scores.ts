import type { LoadedModel, ScoredToken } from '@svc/contracts'
import { invalid } from './body-reader.ts'
import type { CompletionRequest, Completions } from './completions.ts'
import { type JobEvent, runConcurrently } from './concurrent-jobs.ts'
import { promptTokens } from './prompt.ts'

/** Maximum log probabilities of one request: each needs about 250 bytes until the response is sent. */
const MAX_ENTRIES = 2_000_000

/** Token of a prompt and its log probability, given the tokens before it. */
export interface PromptToken {
  readonly text: string
  /** Number of characters of the prompt's text that the token stands for; 0 for an added begin-of-text token. */
  readonly length: number
  /** Null for the first token. */
  readonly score: ScoredToken | null
}

export interface ScoreOptions extends Pick<CompletionRequest, 'adapter' | 'client' | 'startedAt'> {
  /** Number of most likely tokens to report at each position. */
  readonly top: number
}

/**
 * Scores the tokens of prompts, as many concurrently as the model has slots. Resolves to one list per prompt. Throws like
 * {@link Completions.score}, and `MSV_REQUEST_INVALID` for too many log probabilities.
 */
export async function scorePrompts(
  completions: Completions,
  model: LoadedModel,
  prompts: readonly CompletionRequest['prompt'][],
  options: ScoreOptions,
  signal: AbortSignal
): Promise<readonly (readonly PromptToken[])[]> {
  type Scores = { readonly tokens: readonly number[]; readonly scores: readonly ScoredToken[] }
  let entries = 0
  const [first, ...others] = prompts.map(prompt => async (admitted: boolean, signal: AbortSignal) => {
    const tokens = promptTokens(model, prompt, model.info.contextLength)
    entries += tokens.length * (options.top + 1)
    if (entries > MAX_ENTRIES) {
      throw invalid(
        `the prompts have more than ${MAX_ENTRIES} log probabilities, the limit: send fewer prompts, or ask for fewer alternatives`,
        'prompt'
      )
    }
    const scored = await completions.score({ ...options, prompt: { kind: 'tokens', tokens }, admitted }, signal)
    return one<Scores>(scored)
  })
  if (first === undefined) return []
  const found: (readonly PromptToken[])[] = []
  const events: AsyncIterable<JobEvent<Scores>> = await runConcurrently([first, ...others], completions.slots, signal)
  for await (const { index, event } of events) found[index] = described(model, prompts[index], event)
  return found
}

async function* one<T>(value: T): AsyncGenerator<T, void> {
  yield value
}

function described(
  model: LoadedModel,
  prompt: CompletionRequest['prompt'] | undefined,
  { tokens, scores }: { readonly tokens: readonly number[]; readonly scores: readonly ScoredToken[] }
): readonly PromptToken[] {
  const begins = prompt?.kind === 'text' && prompt.begin === true
  const added = begins ? model.tokenize('', { special: true, begin: true }) : []
  return tokens.map((token, at) => {
    const score = at === 0 ? null : (scores[at - 1] ?? null)
    const text = score?.text ?? model.detokenize([token])
    return { text, length: token === added[at] && at < added.length ? 0 : text.length, score }
  })
}

/**
 * Returns the scores of a prompt in the form of vLLM: for each token an object by token id, with the token and the `top`
 * most likely ones; null for the first token.
 */
export function promptLogprobs(tokens: readonly PromptToken[], top: number): readonly (object | null)[] {
  return tokens.map(({ score }) => {
    if (score === null) return null
    const entries = score.top.slice(0, top).map((each, at) => [each.token, { ...shown(each), rank: at + 1 }] as const)
    return Object.fromEntries([...entries, [score.token, { ...shown(score), rank: score.rank }]])
  })
}

function shown({ text, logprob }: Pick<ScoredToken, 'text' | 'logprob'>): object {
  return { logprob, decoded_token: text }
}
