import type { GenerateRequest, LoadedModel } from '@svc/contracts'
import { errors } from './errors.ts'
import { constraintOf, formed } from './output.ts'
import type { CompletionRequest } from './request.ts'

export interface Completion {
  readonly text: string
  readonly tokens: number
  readonly finishReason: 'stop' | 'length'
  /** Further attempts that were needed; null without an output mode. */
  readonly repairs: number | null
}

/** Text as it is generated, and the end. */
export type Piece = { readonly text: string } | Completion

/**
 * Generates a completion. Text of an output mode appears when it is complete; other text as it is generated. Throws
 * `EXE_OUTPUT_INVALID`, the errors of the engine, and the reason of an aborted signal.
 */
export async function* complete(
  model: LoadedModel,
  request: CompletionRequest,
  signal: AbortSignal
): AsyncGenerator<Piece, void> {
  const { output_mode: mode, max_retries, temperature } = request
  // Without a random choice, a further attempt would be the same.
  const attempts = mode === undefined || temperature === 0 ? 1 : max_retries + 1
  let tokens = 0
  for (let attempt = 0; attempt < attempts; attempt++) {
    let text = ''
    for await (const event of model.generate(generateRequest(model, request, signal))) {
      if (event.type === 'text') {
        text += event.text
        if (mode === undefined) yield { text: event.text }
        continue
      }
      tokens += event.usage.completionTokens
      if (event.finishReason === 'cancelled') throw signal.reason
      if (mode === undefined) {
        yield { text, tokens, finishReason: event.finishReason, repairs: null }
        return
      }
    }
    const output = mode === undefined ? null : formed(mode, text)
    if (output === null) continue
    yield { text: output }
    yield { text: output, tokens, finishReason: 'stop', repairs: attempt }
    return
  }
  const made = attempts === 1 ? 'the output was' : `the outputs of all ${attempts} attempts were`
  throw errors.create('EXE_OUTPUT_INVALID', `${made} cut off after ${request.max_tokens} tokens`, {
    data: { attempts, tokens },
    hint: 'Raise max_tokens, or limit lengths in the schema.'
  })
}

function generateRequest(model: LoadedModel, request: CompletionRequest, signal: AbortSignal): GenerateRequest {
  const constraint = constraintOf(request)
  return {
    tokens: model.tokenize(request.prompt, { special: true, begin: true }),
    maxTokens: request.max_tokens,
    sampling: { temperature: request.temperature },
    ...(constraint !== undefined && { constraint }),
    signal
  }
}
