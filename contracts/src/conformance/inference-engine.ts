import assert from 'node:assert/strict'
import { isSvcError } from '@svc/plugin-sdk'
import type { InferenceEngine } from '../inference/engine.ts'
import { loadedModelSuite } from './loaded-model.ts'
import { type ConformanceSuite, holds } from './suite.ts'

export interface InferenceEngineSubject {
  readonly engine: InferenceEngine
  /** Absolute path of a run directory that the engine can load. It should be small: most cases load it. */
  readonly runDirectory: string
  /** See `LoadedModelSubject`. */
  readonly prompt: string
  readonly texts?: readonly string[]
}

/** Conformance cases for every `inference.engine@1` and the models that it loads. */
export function inferenceEngineSuite({ engine, runDirectory, ...model }: InferenceEngineSubject): ConformanceSuite {
  return [
    {
      name: 'has a name, and lists cpu among its devices',
      async run() {
        assert.notEqual(engine.name, '')
        const devices = await engine.devices()
        holds(
          devices.some(({ id }) => id === 'cpu'),
          'cpu is among the devices'
        )
      }
    },
    {
      name: 'rejects a run directory that does not exist',
      async run() {
        const code = await codeOf(engine.load({ runDirectory: `${runDirectory}/no-such-directory` }))
        assert.match(code, /^INF_RUN_DIR_/)
      }
    },
    {
      name: 'rejects a missing device that is requested by name',
      async run() {
        const code = await codeOf(engine.load({ runDirectory, device: 'no-such-device' }))
        assert.equal(code, 'INF_DEVICE_UNAVAILABLE')
      }
    },
    {
      name: 'reports the progress of a load from 0 to 1, never decreasing',
      async run() {
        const fractions: number[] = []
        const loaded = await engine.load({ runDirectory, onProgress: fraction => fractions.push(fraction) })
        await loaded.close()
        holds(fractions.length > 0, 'progress is reported')
        for (const [index, fraction] of fractions.entries()) {
          const previous = fractions[index - 1] ?? 0
          holds(fraction >= previous && fraction <= 1, `progress ${fraction} is from ${previous} to 1`)
        }
      }
    },
    {
      name: 'does not load if the signal is already aborted',
      async run() {
        await assert.rejects(engine.load({ runDirectory, signal: AbortSignal.abort() }))
      }
    },
    ...loadedModelSuite({ ...model, load: options => engine.load({ runDirectory, ...options }) })
  ]
}

async function codeOf(loading: Promise<{ close(): Promise<void> }>): Promise<string> {
  try {
    await (await loading).close()
  } catch (error) {
    holds(isSvcError(error), `the error has a code: ${String(error)}`)
    return error.code
  }
  return assert.fail('the load succeeded, but should throw')
}
