import assert from 'node:assert/strict'
import { isSvcError } from '@svc/plugin-sdk'
import type { InferenceEmbeddings, LoadedEmbedder } from '../inference/embedding.ts'
import { type ConformanceSuite, holds } from './suite.ts'

export interface EmbeddingsSubject {
  readonly embeddings: InferenceEmbeddings
  /** Absolute path of a folder with a small embedding model. Each case loads it. */
  readonly directory: string
}

/** Short, so that they fit into any context. */
const TEXTS = ['a retry', 'the queue', 'a retry or two']
const TOLERANCE = 1e-5

/** Conformance cases for every `inference.embeddings@1` and the embedding models that it loads. */
export function embeddingsSuite({ embeddings, directory }: EmbeddingsSubject): ConformanceSuite {
  const withModel = async (check: (model: LoadedEmbedder) => Promise<void>): Promise<void> => {
    const model = await embeddings.load({ directory })
    try {
      await check(model)
    } finally {
      await model.close()
    }
  }
  return [
    {
      name: 'rejects a folder that does not exist',
      run: () => rejects(embeddings.load({ directory: `${directory}/no-such-folder` }), /^INF_RUN_DIR_/)
    },
    {
      name: 'does not load if the signal is already aborted',
      run: async () => {
        await assert.rejects(embeddings.load({ directory, signal: AbortSignal.abort() }))
      }
    },
    {
      name: 'returns one finite vector of the stated dimensions for each text, in order',
      run: () =>
        withModel(async model => {
          const { values, count, dimensions, tokens } = await model.embed(TEXTS)
          assert.equal(count, TEXTS.length)
          assert.equal(dimensions, model.info.dimensions)
          assert.equal(values.length, count * dimensions)
          holds(values.every(Number.isFinite), 'every component is finite')
          holds(tokens > 0, 'the tokens are counted')
        })
    },
    {
      name: 'returns the same vector for a text in any company',
      run: () =>
        withModel(async model => {
          const { values, dimensions } = await model.embed(TEXTS)
          for (const [index, text] of TEXTS.entries()) {
            const single = await model.embed([text])
            const row = values.subarray(index * dimensions, (index + 1) * dimensions)
            holds(
              row.every((value, at) => Math.abs(value - (single.values[at] as number)) < TOLERANCE),
              `text ${index} has the same vector without other texts`
            )
          }
        })
    },
    {
      name: 'returns no vector for no text',
      run: () =>
        withModel(async model => {
          const { values, count } = await model.embed([])
          assert.deepEqual([values.length, count], [0, 0])
        })
    },
    {
      name: 'shortens vectors to the requested dimensions, and normalises them',
      run: () =>
        withModel(async model => {
          const half = Math.ceil(model.info.dimensions / 2)
          const { values, dimensions } = await model.embed(TEXTS.slice(0, 1), { dimensions: half })
          assert.deepEqual([dimensions, values.length], [half, half])
          const length = Math.hypot(...values)
          holds(Math.abs(length - 1) < TOLERANCE, `the vector has length 1, not ${length}`)
        })
    },
    {
      name: 'rejects dimensions that the model does not have',
      run: () =>
        withModel(async model => {
          for (const dimensions of [0, 1.5, model.info.dimensions + 1]) {
            await rejects(model.embed(TEXTS, { dimensions }), /^INF_OPTION_INVALID$/)
          }
        })
    },
    {
      name: 'rejects token ids outside the vocabulary',
      run: () =>
        withModel(async model => {
          for (const token of [-1, 0.5, model.info.vocabularySize]) {
            await rejects(model.embed([[token]]), /^INF_OPTION_INVALID$/)
          }
        })
    },
    {
      name: 'rejects a text beyond the context, and cuts it on request',
      run: () =>
        withModel(async model => {
          const long = [Array.from({ length: model.info.contextLength + 1 }, () => 1)]
          await rejects(model.embed(long), /^INF_CONTEXT_EXCEEDED$/)
          const { tokens } = await model.embed(long, { truncate: true })
          assert.equal(tokens, model.info.contextLength)
        })
    },
    {
      name: 'rejects aborted calls with the reason of the signal',
      run: () =>
        withModel(async model => {
          const reason = new Error('the caller left')
          await assert.rejects(
            model.embed(TEXTS, { signal: AbortSignal.abort(reason) }),
            (error: unknown) => error === reason
          )
        })
    },
    {
      name: 'rejects calls after close, which may be repeated',
      run: async () => {
        const model = await embeddings.load({ directory })
        await model.close()
        await model.close()
        await rejects(model.embed(TEXTS), /^INF_MODEL_CLOSED$/)
      }
    }
  ]
}

async function rejects(work: Promise<unknown>, code: RegExp): Promise<void> {
  await assert.rejects(work, (error: unknown) => {
    assert.match(isSvcError(error) ? error.code : String(error), code)
    return true
  })
}
