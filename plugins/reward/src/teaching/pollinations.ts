import { RemoteClient, RemoteFailure } from '@svc/contracts'
import { type Link, MAX_TOKENS, NotSetUp } from './link.ts'

export const POLLINATIONS_URL = 'https://gen.pollinations.ai'

export interface PollinationsAccess {
  readonly url: string
  /** Returns the key; null if there is none. */
  readonly key: (signal: AbortSignal) => Promise<string | null>
}

/** Text of Pollinations, in OpenAI's format. Its own address needs a key, which is free. */
export function pollinationsLink(access: () => PollinationsAccess): Link {
  return {
    name: 'pollinations',
    async write(prompt, signal) {
      const { url, key: readKey } = access()
      const key = await readKey(signal)
      if (key === null && url === POLLINATIONS_URL) throw new NotSetUp('no key: set POLLINATIONS_API_KEY')
      const client = new RemoteClient({ service: 'Pollinations', signal, attempts: 1 })
      const answer = await client.send({
        method: 'POST',
        url: `${url.replace(/\/+$/, '')}/v1/chat/completions`,
        headers: {
          'content-type': 'application/json',
          ...(key === null ? {} : { authorization: `Bearer ${key}` })
        },
        body: JSON.stringify({
          messages: [{ role: 'user', content: prompt }],
          model: 'openai',
          max_tokens: MAX_TOKENS,
          stream: false,
          private: true
        })
      })
      return textOf(answer.json())
    }
  }
}

function textOf(answer: unknown): string {
  const { choices } = (answer ?? {}) as { choices?: unknown }
  const [first] = Array.isArray(choices) ? (choices as readonly unknown[]) : []
  const { message } = (first ?? {}) as { message?: unknown }
  const { content } = (message ?? {}) as { content?: unknown }
  if (typeof content === 'string') return content
  throw new RemoteFailure('Pollinations: the answer contains no text', {
    failureClass: 'fatal',
    code: 'answer_invalid'
  })
}
