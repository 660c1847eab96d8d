import { inferenceEngine } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { ToyEngine } from './toy-engine.ts'

/** Plugin that provides the toy engine in a test. */
export function toyPlugin(engine = new ToyEngine()): Plugin {
  return definePlugin({
    name: 'toy-engine',
    provides: [inferenceEngine],
    activate: ctx => ctx.provide(inferenceEngine, engine)
  })
}
