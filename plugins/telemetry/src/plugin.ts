import { resolve } from 'node:path'
import { a2aBus, benchmarkRecorder, currentQgatePolicy, databaseStore, kernelPort, orchestrator } from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { benchmarkFeed, benchmarkFeedHandler } from './benchmark-feed.ts'
import { contributeConsole } from './console.ts'
import { DogfoodTrace } from './dogfood-trace.ts'
import {
  type Dependencies,
  doctorHandler,
  enqueueHandler,
  exportHandler,
  listHandler,
  recordHandler,
  statusHandler,
  uploadHandler
} from './handlers.ts'
import {
  benchmarkList,
  benchmarkRecord,
  operations,
  TELEMETRY_TOPIC,
  telemetryDoctor,
  telemetryEnqueue,
  telemetryExport,
  telemetryStatus,
  telemetryUpload
} from './operations.ts'
import { MetricRecorder } from './recorder.ts'
import { settings } from './settings.ts'
import { Spool } from './spool.ts'

export default definePlugin({
  name: 'telemetry',
  summary: 'Records results of benchmarks on this machine, and uploads payloads by command',
  config: settings,
  requires: { kernel: kernelPort, database: databaseStore },
  optional: { bus: a2aBus, tasks: ref(orchestrator) },
  provides: [benchmarkRecorder],
  operations: [...operations, benchmarkFeed],
  activate(ctx, { kernel, database, bus, tasks }) {
    const { spool_dir, dogfood_trace_path } = ctx.config
    const mask = (text: string): string => kernel.mask(text)
    const changed = (): void => ctx.changed(TELEMETRY_TOPIC)
    const recorder = new MetricRecorder({
      database,
      repositoryId: kernel.repositoryId,
      settings: () => ctx.config,
      mask,
      changed
    })
    const trace =
      dogfood_trace_path === undefined
        ? null
        : new DogfoodTrace({
            path: resolve(ctx.projectRoot, dogfood_trace_path),
            enabled: () => ctx.config.recording,
            minConfidence: () => currentQgatePolicy(tasks).min_training_pair_confidence,
            mask,
            log: ctx.log
          })
    const dependencies: Dependencies = {
      settings: () => ctx.config,
      database,
      kernel,
      recorder,
      spool: new Spool(resolve(ctx.projectRoot, spool_dir)),
      trace,
      log: ctx.log,
      changed
    }
    if (trace !== null && bus !== undefined) {
      ctx.effect('last lines of the dogfood trace', () => trace.flush())
      ctx.effect(
        'dogfood trace',
        bus.subscribe(message => trace.record(message))
      )
    }
    ctx.provide(benchmarkRecorder, recorder)
    ctx.implement(benchmarkList, listHandler(dependencies))
    ctx.implement(benchmarkFeed, benchmarkFeedHandler(dependencies))
    ctx.implement(benchmarkRecord, recordHandler(dependencies))
    ctx.implement(telemetryStatus, statusHandler(dependencies))
    ctx.implement(telemetryDoctor, doctorHandler(dependencies))
    ctx.implement(telemetryExport, exportHandler(dependencies))
    ctx.implement(telemetryEnqueue, enqueueHandler(dependencies))
    ctx.implement(telemetryUpload, uploadHandler(dependencies))
    contributeConsole(ctx)
  }
})
