/** Mixed requests to a model server, each with its expected result. */

export interface Answer {
  readonly status: number
  readonly text: string
}

export interface Task {
  readonly kind: string
  readonly wanted: Answer
  run(url: string): Promise<Answer>
  isRight(answer: Answer): boolean
}

interface Question {
  readonly prompt: string
  readonly seed: number
  readonly temperature: number
  readonly tokens: number
}

const THINGS = ['books', 'songs', 'orders of a shop', 'players', 'invoices', 'trees in a park', 'rooms', 'ships']
const FIELDS = ['a name', 'a name and a price', 'a title, a year and a status', 'an owner and a size']

/** Short and long prompts, greedy and sampled, with common prefixes, so that the prefix cache is used. */
const QUESTIONS: readonly Question[] = THINGS.flatMap((thing, at) =>
  FIELDS.map((fields, field) => ({
    prompt: `${at % 3 === 0 ? 'Please make it short. '.repeat(1 + 8 * (at % 2)) : ''}a table of ${thing} with ${fields}`,
    seed: at * 7 + field,
    temperature: (at + field) % 2 === 0 ? 0 : 1.1,
    tokens: 4 + 4 * field
  }))
)

const MODEL = 'vox-tiny'

/** Expected answers, generated without concurrent requests. */
export class Expected {
  readonly #texts: readonly string[]

  constructor(texts: readonly string[]) {
    this.#texts = texts
  }

  static async ask(url: string): Promise<Expected> {
    const texts: string[] = []
    for (const question of QUESTIONS) texts.push((await chatWhole(url, question)).text)
    return new Expected(texts)
  }

  text(at: number): string {
    return this.#texts[at] as string
  }
}

/** Yields `count` tasks, the same in every run. */
export function* tasks(count: number, expected: Expected): Generator<Task, void> {
  const random = sequence(1)
  const pick = (limit: number) => Math.floor(random() * limit)
  for (let index = 0; index < count; index++) {
    const at = pick(QUESTIONS.length)
    const question = QUESTIONS[at] as Question
    const text = expected.text(at)
    const kind = pick(20)
    if (kind < 5) yield whole('chat', question, text, chatWhole)
    else if (kind < 10) yield whole('streamed chat', question, text, chatStreamed)
    else if (kind < 13) yield whole('rows of a chat', question, text, ollamaChat)
    else if (kind < 16) yield disconnecting(question, text, pick(4))
    else yield refused(BAD[pick(BAD.length)] as BadRequest)
  }
}

type Ask = (url: string, question: Question) => Promise<Answer>

function whole(kind: string, question: Question, text: string, ask: Ask): Task {
  const wanted = { status: 200, text }
  return {
    kind,
    wanted,
    run: url => ask(url, question),
    isRight: answer => answer.status === 200 && answer.text === text
  }
}

/** Returns a task whose client disconnects after some pieces, which must be a prefix of the expected answer. */
function disconnecting(question: Question, text: string, pieces: number): Task {
  return {
    kind: 'client that disconnects',
    wanted: { status: 200, text },
    run: async url => {
      const controller = new AbortController()
      const response = await post(url, '/v1/chat/completions', body(question, true), controller.signal)
      let got = ''
      let left = pieces
      try {
        for await (const delta of deltas(response)) {
          got += delta
          left -= 1
          if (left <= 0) controller.abort()
        }
      } catch (error) {
        if (!controller.signal.aborted) throw error
      }
      return { status: response.status, text: got }
    },
    isRight: answer => answer.status === 200 && text.startsWith(answer.text)
  }
}

interface BadRequest {
  readonly path: string
  readonly body: string
  readonly status: number
}

const messages = [{ role: 'user', content: 'x' }]
const BAD: readonly BadRequest[] = [
  { path: '/v1/chat/completions', body: '{"model":', status: 400 },
  { path: '/v1/chat/completions', body: JSON.stringify({ model: 'no-such-model', messages }), status: 404 },
  { path: '/v1/chat/completions', body: JSON.stringify({ model: MODEL, messages: 'x' }), status: 400 },
  { path: '/api/chat', body: JSON.stringify({ model: MODEL, messages, options: { temperature: 'hot' } }), status: 400 },
  { path: '/api/generate', body: JSON.stringify({ model: MODEL, prompt: 'word '.repeat(5000) }), status: 400 },
  { path: '/api/generate', body: JSON.stringify({ model: MODEL, prompt: 'x'.repeat(100_000) }), status: 413 },
  { path: '/api/embeddings', body: JSON.stringify({ model: MODEL, prompt: 'x' }), status: 501 }
]

function refused({ path, body, status }: BadRequest): Task {
  return {
    kind: 'bad request',
    wanted: { status, text: 'error' },
    run: async url => {
      const response = await post(url, path, body)
      const { error } = (await response.json()) as { error?: unknown }
      return { status: response.status, text: error === undefined ? 'no error' : 'error' }
    },
    isRight: answer => answer.status === status && answer.text === 'error'
  }
}

async function chatWhole(url: string, question: Question): Promise<Answer> {
  const response = await post(url, '/v1/chat/completions', body(question, false))
  const { choices } = (await response.json()) as { choices?: { message: { content: string } }[] }
  return { status: response.status, text: choices?.[0]?.message.content ?? '' }
}

async function chatStreamed(url: string, question: Question): Promise<Answer> {
  const response = await post(url, '/v1/chat/completions', body(question, true))
  let text = ''
  for await (const delta of deltas(response)) text += delta
  return { status: response.status, text }
}

async function ollamaChat(url: string, { prompt, seed, temperature, tokens }: Question): Promise<Answer> {
  const options = { seed, temperature, num_predict: tokens }
  const request = { model: MODEL, messages: [{ role: 'user', content: prompt }], options }
  const response = await post(url, '/api/chat', JSON.stringify(request))
  const rows = (await response.text())
    .trim()
    .split('\n')
    .map(row => JSON.parse(row) as OllamaRow)
  if (rows.at(-1)?.done !== true) return { status: response.status, text: 'the stream ended without done' }
  return { status: response.status, text: rows.map(({ message }) => message?.content ?? '').join('') }
}

interface OllamaRow {
  readonly done: boolean
  readonly message?: { readonly content: string }
}

function body({ prompt, seed, temperature, tokens }: Question, stream: boolean): string {
  const asked = [{ role: 'user', content: prompt }]
  return JSON.stringify({ model: MODEL, messages: asked, seed, temperature, max_tokens: tokens, stream })
}

function post(url: string, path: string, text: string, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}${path}`, { method: 'POST', headers, body: text, ...(signal === undefined ? {} : { signal }) })
}

/** Yields the text of an event stream, piece by piece. Throws if it ends without `[DONE]`. */
async function* deltas(response: Response): AsyncGenerator<string, void> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(bytes, { stream: true })
    const events = rest.split('\n\n')
    rest = events.pop() as string
    for (const event of events) {
      const data = event.slice('data: '.length)
      if (data === '[DONE]') return
      const { choices } = JSON.parse(data) as { choices: { delta: { content?: string } }[] }
      yield choices[0]?.delta.content ?? ''
    }
  }
  throw new Error('the stream ended without [DONE]')
}

/** Returns a seeded generator of random numbers in [0, 1): mulberry32. */
function sequence(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
