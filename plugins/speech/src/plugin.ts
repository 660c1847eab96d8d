import { join, resolve } from 'node:path'
import { httpHandlers, httpUpgrades, inferenceClient, speechRecogniser } from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { audioRoutes } from './http/routes.ts'
import { StreamEndpoint } from './http/stream.ts'
import { ModelDownload } from './model-download.ts'
import {
  downloadHandler,
  speechDownload,
  speechStatus,
  speechTranscribe,
  statusHandler,
  transcribeHandler
} from './operations.ts'
import { Proofreader } from './proofreader.ts'
import { LexiconFile } from './refine/lexicon.ts'
import { type Settings, settings } from './settings.ts'
import { statusOf } from './status.ts'
import { Transcriber } from './transcriber.ts'
import { tunablesOf } from './tunables.ts'
import { programDigest, WhisperThread } from './whisper/whisper-thread.ts'
import { Workspace } from './workspace.ts'

const INGRESS = '.vox/tmp/audio_ingress'

export default definePlugin({
  name: 'speech',
  summary: 'Turns recordings into text with Whisper models',
  config: settings,
  optional: { client: ref(inferenceClient) },
  provides: [speechRecogniser],
  operations: [speechTranscribe, speechStatus, speechDownload],
  permissions: {
    fsRead: ['*'],
    fsWrite: ['*'],
    nativeAddons: true,
    worker: true,
    childProcess: true,
    env: ['HF_HOME', 'HF_HUB_CACHE', 'HF_ENDPOINT', 'HF_TOKEN', 'HOME', 'XDG_CACHE_HOME', 'PATH']
  },
  async activate(ctx, { client }) {
    const config: Settings = ctx.config
    const { projectRoot } = ctx
    const warn = (message: string, reason?: unknown) =>
      ctx.log.warn(message, reason === undefined ? {} : { reason: reason instanceof Error ? reason.message : reason })
    const tunables = await tunablesOf(
      config,
      config.config_file === undefined ? null : resolve(projectRoot, config.config_file)
    )
    const workspace = new Workspace(
      config.workspace === undefined ? process.cwd() : resolve(projectRoot, config.workspace)
    )
    const modelsDirectory = resolve(projectRoot, config.models_directory)
    const { model, revision } = config
    // The thread, and its loaded model, outlive a reload of the plugin.
    const thread = await ctx.keep(
      `whisper ${await programDigest()}`,
      () => new WhisperThread(),
      kept => kept.close()
    )
    const transcriber = new Transcriber({
      settings: config,
      tunables,
      location: { model, revision, projectRoot, modelsDirectory, environment: process.env },
      workspace,
      lexicon: new LexiconFile(
        resolve(projectRoot, config.lexicon ?? '.vox/speech_lexicon.json'),
        config.lexicon !== undefined,
        warn
      ),
      thread,
      proofreader:
        tunables.llm_refinement_default && client !== undefined
          ? new Proofreader(() => client.current, tunables.llm_max_output_tokens, warn)
          : null
    })
    ctx.provide(speechRecogniser, transcriber)
    const status = { settings: config, tunables, transcriber, thread }
    ctx.implement(speechTranscribe, transcribeHandler(transcriber, tunables))
    ctx.implement(speechStatus, statusHandler(status))
    const download = new ModelDownload({
      model,
      revision,
      modelsDirectory,
      hub: process.env.HF_ENDPOINT ?? 'https://huggingface.co',
      token: process.env.HF_TOKEN,
      attempts: tunables.hf_retry_attempts,
      delayMs: tunables.hf_retry_delay_ms
    })
    ctx.implement(speechDownload, downloadHandler(download))
    ctx.contribute(httpHandlers, {
      routes: audioRoutes({
        transcriber,
        status: () => statusOf(status),
        ingress: { name: INGRESS, folder: join(workspace.root, INGRESS) },
        captureTimeoutMs: tunables.capture_timeout_ms
      })
    })
    const stream = new StreamEndpoint({ transcriber, tunables, partialSeconds: config.chunk_sec })
    ctx.contribute(httpUpgrades, stream)
    ctx.effect('streams', () => stream.close())
  }
})
