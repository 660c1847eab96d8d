import { type ChannelContext, type NewsChannel, type NewsPost, RemoteFailure, type RetryProfile } from '@svc/contracts'

/** Service in this process that is not idempotent: each request adds a post. */
export class Board {
  readonly posts: { readonly id: string; readonly key: string }[] = []
  /** Faults of the next requests. Default: an answer. */
  readonly faults: ('refuse' | 'limit' | 'lose-answer' | 'lose-request')[] = []

  post(key: string): string {
    const fault = this.faults.shift()
    const fail = (code: string, failureClass: 'fatal' | 'rate_limit' | 'transient', outcomeUnknown: boolean) =>
      new RemoteFailure(`board: ${code}`, { failureClass, code, outcomeUnknown })
    if (fault === 'refuse') throw fail('http_400', 'fatal', false)
    if (fault === 'limit') {
      throw new RemoteFailure('board: 429', { failureClass: 'rate_limit', code: 'http_429', retryAfterMs: 1 })
    }
    if (fault === 'lose-request') throw fail('network', 'transient', true)
    const id = `post-${this.posts.length + 1}`
    this.posts.push({ id, key })
    if (fault === 'lose-answer') throw fail('network', 'transient', true)
    return id
  }

  find(key: string): string | undefined {
    return this.posts.find(post => post.key === key)?.id
  }
}

export interface BoardOptions {
  readonly name?: string
  /** Whether posts can be found by their key. */
  readonly canFind: boolean
  /** Default: `standard`. */
  readonly retry?: RetryProfile
  /** Called at each step of the channel. May throw, as if the process ended. */
  readonly step?: (name: string) => void
}

/** Channel that saves its intent, and after an unknown outcome finds the post or asks a person. */
export function boardChannel(
  board: Board,
  { name = 'board', canFind, retry = 'standard', step = () => {} }: BoardOptions
): NewsChannel {
  return {
    name,
    summary: 'A board',
    live: true,
    options: { type: 'object', additionalProperties: false, properties: {} },
    retry,
    problem: async () => null,
    preview: async post => [
      { label: 'text', text: post.summary, length: post.summary.length, limit: 500, unit: 'characters' }
    ],
    async send(post: NewsPost, context: ChannelContext) {
      step('begin')
      if (context.mayExist && context.checkpoint !== null) {
        if (!canFind) {
          throw new RemoteFailure('board: the post may exist', { failureClass: 'fatal', code: 'outcome_unknown' })
        }
        const found = board.find(context.attemptKey)
        step('looked')
        if (found !== undefined) return { externalId: found }
      }
      await context.saveCheckpoint({ intent: post.id })
      step('intent')
      const externalId = board.post(context.attemptKey)
      step('posted')
      return { externalId, url: `https://board.example/${externalId}` }
    }
  }
}
