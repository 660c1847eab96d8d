import assert from 'node:assert/strict'
import { isSvcError } from '@svc/plugin-sdk'
import type { GenerateEvent, GenerateRequest, GenerateUsage, LoadedModel, LoadOptions } from '../inference/engine.ts'
import { type ConformanceCase, type ConformanceSuite, holds } from './suite.ts'

export interface LoadedModelSubject {
  /** Loads the model again; every case closes what it has loaded. */
  load(options: Pick<LoadOptions, 'slots' | 'maxContext'>): Promise<LoadedModel>
  /** Prompt that the model continues greedily with at least 24 tokens of visible text. */
  readonly prompt: string
  /** Strings that are the same after tokenising and detokenising; default: the prompt. */
  readonly texts?: readonly string[]
}

const GREEDY = { temperature: 0 } as const
const LENGTH = 24

interface Generated {
  readonly text: string
  readonly events: readonly GenerateEvent[]
  /** Tokens in the text events. */
  readonly tokens: readonly number[]
  readonly finishReason: string
  readonly usage: GenerateUsage
}

/** Conformance cases for every model that an `inference.engine@1` has loaded. */
export function loadedModelSuite({ load, prompt, texts = [prompt] }: LoadedModelSubject): ConformanceSuite {
  const withModel =
    (use: (model: LoadedModel) => Promise<void>, options: Parameters<typeof load>[0] = {}) =>
    async (): Promise<void> => {
      const model = await load(options)
      try {
        await use(model)
      } finally {
        await model.close()
      }
    }
  const start = (model: LoadedModel, request: Partial<GenerateRequest> = {}): AsyncIterable<GenerateEvent> =>
    model.generate({ tokens: model.tokenize(prompt), maxTokens: LENGTH, ignoreEos: true, sampling: GREEDY, ...request })
  const generate = async (model: LoadedModel, request?: Partial<GenerateRequest>): Promise<Generated> =>
    collect(start(model, request))

  const cases: readonly ConformanceCase[] = [
    {
      name: 'reports its properties',
      run: withModel(async ({ info }) => {
        for (const count of [info.parameters, info.contextLength, info.vocabularySize, info.sizeBytes])
          holds(Number.isSafeInteger(count) && count > 0, `${count} is a positive integer`)
        assert.match(info.digest, /^[0-9a-f]{64}$/)
        for (const word of [info.family, info.precision, info.device]) assert.notEqual(word, '')
      })
    },
    {
      name: 'restores a string from its tokens, which are all in the vocabulary',
      run: withModel(async model => {
        for (const text of texts) {
          const tokens = model.tokenize(text)
          for (const id of tokens)
            holds(Number.isInteger(id) && id >= 0 && id < model.info.vocabularySize, `${id} is in the vocabulary`)
          assert.equal(model.detokenize(tokens), text)
        }
      })
    },
    {
      name: 'renders a conversation with its messages; special tokens take fewer ids than their names',
      run: withModel(async model => {
        const chat = model.renderChat([{ role: 'user', content: prompt }])
        holds(chat.includes(prompt), `${JSON.stringify(chat)} contains the message`)
        const special = model.tokenize(chat, { special: true })
        holds(special.length <= model.tokenize(chat).length, 'special tokens take no more ids than their names')
      })
    },
    {
      name: 'generates at most the requested number of tokens, and ends with done',
      run: withModel(async model => {
        for (const maxTokens of [1, LENGTH]) {
          const { events, finishReason, usage, tokens } = await generate(model, { maxTokens })
          assert.equal(events.filter(event => event.type === 'done').length, 1)
          assert.equal(finishReason, 'length')
          assert.equal(usage.completionTokens, maxTokens)
          assert.equal(usage.promptTokens, model.tokenize(prompt).length)
          holds(tokens.length <= maxTokens, `${tokens.length} tokens are not more than ${maxTokens}`)
        }
      })
    },
    {
      name: 'yields pieces of text that are whole characters and never empty',
      run: withModel(async model => {
        const { events } = await generate(model)
        for (const event of events)
          if (event.type === 'text')
            holds(isWhole(event.text), `${JSON.stringify(event.text)} has only whole characters`)
      })
    },
    {
      name: 'generates the same text for the same seed, and always the same text at temperature 0',
      run: withModel(async model => {
        const sampling = { temperature: 1, seed: 42 }
        assert.equal((await generate(model, { sampling })).text, (await generate(model, { sampling })).text)
        assert.equal((await generate(model)).text, (await generate(model)).text)
      })
    },
    {
      name: 'stops before a stop string at any position, and yields no part of it',
      run: withModel(async model => {
        const { text } = await generate(model)
        for (let from = 1; from + 3 <= text.length; from += Math.max(1, Math.floor(text.length / 6))) {
          const stop = text.slice(from, from + 3)
          const stopped = await generate(model, { stop: [stop, `${stop}never`] })
          assert.equal(stopped.text, text.slice(0, text.indexOf(stop)))
          assert.equal(stopped.finishReason, 'stop')
        }
      })
    },
    {
      name: 'yields text that is only the beginning of a stop string',
      run: withModel(async model => {
        const { text } = await generate(model)
        const { text: whole, finishReason } = await generate(model, { stop: [`${text.slice(-2)}\u0000`] })
        assert.deepEqual([whole, finishReason], [text, 'length'])
      })
    },
    {
      name: 'ends within one token after a cancellation, and frees its slot',
      run: withModel(async model => {
        const controller = new AbortController()
        let seen = 0
        let last: GenerateEvent | undefined
        for await (const event of start(model, { maxTokens: LENGTH, signal: controller.signal })) {
          last = event
          if (event.type === 'text' && !controller.signal.aborted) {
            seen += event.tokens.length
            controller.abort()
          }
        }
        holds(last?.type === 'done', 'the last event is done')
        assert.equal(last.finishReason, 'cancelled')
        const { completionTokens } = last.usage
        holds(completionTokens <= seen + 1, `${completionTokens} tokens are at most one more than ${seen}`)
        assert.equal(model.capacity().active, 0)
      })
    },
    {
      name: 'generates at most one token if the signal is already aborted',
      run: withModel(async model => {
        const { finishReason, usage } = await generate(model, { signal: AbortSignal.abort() })
        assert.equal(finishReason, 'cancelled')
        holds(usage.completionTokens <= 1, `${usage.completionTokens} tokens are at most one`)
      })
    },
    {
      name: 'frees its slot when the consumer stops reading',
      run: withModel(async model => {
        for await (const event of start(model)) if (event.type === 'text') break
        assert.equal(model.capacity().active, 0)
        assert.equal((await generate(model)).finishReason, 'length')
      })
    },
    {
      name: 'rejects a prompt that exceeds the context, and reports both lengths',
      run: withModel(
        async model => {
          const { contextLength } = model.info
          holds(contextLength <= 48, `a context of ${contextLength} is within maxContext`)
          const tokens = repeated(model.tokenize(prompt), contextLength + 1)
          const error = await generate(model, { tokens }).then(
            () => assert.fail('the prompt was accepted'),
            (caught: unknown) => caught
          )
          holds(isSvcError(error, 'INF_CONTEXT_EXCEEDED'), `the code is INF_CONTEXT_EXCEEDED: ${String(error)}`)
          assert.deepEqual(error.data, { promptTokens: tokens.length, contextLength })
          assert.equal(error.status, 400)
        },
        { maxContext: 48 }
      )
    },
    {
      name: 'stops generating at the end of the context',
      run: withModel(
        async model => {
          const tokens = repeated(model.tokenize(prompt), model.info.contextLength - 4)
          const { finishReason, usage } = await generate(model, { tokens, maxTokens: LENGTH })
          assert.equal(finishReason, 'length')
          holds(usage.completionTokens <= 4, `${usage.completionTokens} tokens fit into 4`)
        },
        { maxContext: 48 }
      )
    },
    {
      name: 'generates the same concurrently as sequentially',
      run: withModel(
        async model => {
          const requests = [prompt, prompt.slice(0, -1), prompt.slice(1)].map(text => ({
            tokens: model.tokenize(text)
          }))
          const serial: string[] = []
          for (const request of requests) serial.push((await generate(model, request)).text)
          const concurrent = await Promise.all(requests.map(request => generate(model, request)))
          assert.deepEqual(
            concurrent.map(({ text }) => text),
            serial
          )
          assert.deepEqual(model.capacity(), { slots: 2, active: 0, waiting: 0 })
        },
        { slots: 2 }
      )
    },
    {
      name: 'reports the log probability of each token, and its alternatives in descending order',
      run: withModel(async model => {
        const { events } = await generate(model, { logprobs: 3 })
        const reported = events.flatMap(event => (event.type === 'text' ? (event.logprobs ?? []) : []))
        holds(reported.length > 0, 'log probabilities are reported')
        for (const { token, logprob, top } of reported) {
          holds(logprob <= 0, `${logprob} is the logarithm of a probability`)
          assert.equal(top.length, 3)
          assert.equal(top[0]?.token, token, 'the most probable token was chosen')
          for (const [index, each] of top.entries())
            holds(each.logprob <= (top[index - 1]?.logprob ?? 0), 'alternatives are in descending order')
        }
      })
    },
    {
      name: 'returns logits for the whole vocabulary, and generates the argmax',
      run: withModel(async model => {
        const rows = await model.logits(model.tokenize(prompt))
        holds(rows.length > 0, 'logits are returned')
        for (const row of rows) assert.equal(row.length, model.info.vocabularySize)
        const last = rows.at(-1) ?? new Float32Array()
        const { tokens } = await generate(model)
        assert.equal(tokens[0], last.indexOf(Math.max(...last)))
      })
    },
    {
      name: 'scores each token of a prompt by the logits before it',
      run: withModel(async model => {
        const tokens = model.tokenize(prompt)
        const [rows, scores] = [await model.logits(tokens), await model.score({ tokens, top: 2 })]
        assert.equal(scores.length, tokens.length - 1)
        for (const [at, { token, logprob, rank, top }] of scores.entries()) {
          const row = rows[at] ?? new Float32Array()
          const peak = Math.max(...row)
          const sum = row.reduce((total, logit) => total + Math.exp(logit - peak), 0)
          assert.equal(token, tokens[at + 1])
          const own = row[token] ?? Number.NaN
          holds(
            Math.abs(own - peak - Math.log(sum) - logprob) < 1e-3,
            `the log probability of token ${at + 1} is right`
          )
          assert.equal(rank, 1 + row.filter(logit => logit > own).length)
          holds((top[0]?.logprob ?? Number.NaN) >= (top[1]?.logprob ?? Number.NaN), 'alternatives are in order')
        }
      })
    },
    {
      name: 'ends running generations when it is closed, and starts no new ones',
      async run() {
        const model = await load({})
        let last: GenerateEvent | undefined
        let closing: Promise<void> | undefined
        for await (const event of start(model, { maxTokens: model.info.contextLength })) {
          last = event
          closing ??= model.close()
        }
        await closing
        holds(last?.type === 'done', 'the last event is done')
        assert.equal(last.finishReason, 'cancelled')
        await assert.rejects(generate(model))
        await model.close()
      }
    }
  ]
  return cases
}

async function collect(events: AsyncIterable<GenerateEvent>): Promise<Generated> {
  const all: GenerateEvent[] = []
  for await (const event of events) all.push(event)
  const last = all.at(-1)
  holds(last?.type === 'done', 'the last event is done')
  const { finishReason, usage } = last
  const pieces = all.flatMap(event => (event.type === 'text' ? [event] : []))
  const text = pieces.map(piece => piece.text).join('')
  return { text, events: all, tokens: pieces.flatMap(piece => piece.tokens), finishReason, usage }
}

function repeated(tokens: readonly number[], length: number): number[] {
  return Array.from({ length }, (_, index) => tokens[index % tokens.length] ?? 0)
}

/** Returns whether text is non-empty and has no lone surrogates. */
function isWhole(text: string): boolean {
  return text !== '' && !/\p{Surrogate}/u.test(text)
}
