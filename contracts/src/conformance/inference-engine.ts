import assert from 'node:assert/strict'
import { isSvcError } from '@svc/plugin-sdk'
import type { InferenceEngine } from '../inference/engine.ts'
import { loadedModelSuite } from './loaded-model.ts'
import { type ConformanceSuite, holds } from './suite.ts'

export interface InferenceEngineSubject {
  readonly engine: InferenceEngine
  /** Absolute path of a run directory that it can load; a small one, since every case loads it. */
  readonly runDirectory: string
  /** See `LoadedModelSubject`. */
  readonly prompt: string
  readonly texts?: readonly string[]
}

/** Conformance cases for every `inference.engine@1` and the models that it loads. */
export function inferenceEngineSuite({ engine, runDirectory, ...model }: InferenceEngineSubject): ConformanceSuite {
  return [
    {
      name: 'has a name, and the processor among its devices',
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
      name: 'refuses a run directory that does not exist',
      async run() {
        const code = await codeOf(engine.load({ runDirectory: `${runDirectory}/no-such-directory` }))
        assert.match(code, /^INF_RUN_DIR_/)
      }
    },
    {
      name: 'refuses a missing device that is requested by name',
      async run() {
        const code = await codeOf(engine.load({ runDirectory, device: 'no-such-device' }))
        assert.equal(code, 'INF_DEVICE_UNAVAILABLE')
      }
    },
    {
      name: 'reports the progress of a load from 0 to 1, never decreasing',
      async run() {
        const told: number[] = []
        const loaded = await engine.load({ runDirectory, onProgress: fraction => told.push(fraction) })
        await loaded.close()
        holds(told.length > 0, 'progress is reported')
        for (const [index, fraction] of told.entries())
          holds(fraction >= (told[index - 1] ?? 0) && fraction <= 1, `${fraction} follows ${told[index - 1] ?? 0}`)
      }
    },
    {
      name: 'does not load for a caller that has left',
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
  return assert.fail('it was loaded')
}
