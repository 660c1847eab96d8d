import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type HttpServer, httpServer, type SpeechRecogniser, speechRecogniser } from '@svc/contracts'
import http from '@svc/plugin-http'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import speech from '#plugin'
import './built-worker.ts'
import { FIXTURES } from './fixtures.ts'

export const MODEL = join(FIXTURES, 'model')

export interface World {
  readonly kernel: TestKernel
  readonly workspace: string
  readonly recogniser: SpeechRecogniser
  url(path: string): string
  /** Writes a file in the workspace. */
  write(path: string, content: string | Uint8Array): void
  post(path: string, body: unknown): Promise<Answer>
  upload(...parts: readonly [name: string, content: string | Uint8Array, filename?: string][]): Promise<Answer>
  reload(): Promise<void>
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly body: any
}

/** Starts the plugin with a real server on a free port, and a separate workspace. */
export async function openWorld(settings: object = {}, others: readonly Plugin[] = []): Promise<World> {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'svc-speech-')))
  copyFileSync(join(FIXTURES, 'tones.wav'), join(workspace, 'tones.wav'))
  let server: { readonly current: HttpServer } | undefined
  let recogniser: { readonly current: SpeechRecogniser } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer), recogniser: ref(speechRecogniser) },
    activate(_ctx, deps) {
      server = deps.server
      recogniser = deps.recogniser
    }
  })
  const kernel = await testKernel([http as Plugin, speech as Plugin, probe as Plugin, ...others], {
    settings: { http: { port: 0, drain_ms: 2_000 }, speech: { workspace, model: MODEL, threads: 1, ...settings } }
  })
  const url = (path: string) => `${server?.current.addresses[0]?.url}${path}`
  const answer = async (response: Response): Promise<Answer> => ({
    status: response.status,
    body: await response.json()
  })
  return {
    kernel,
    workspace,
    get recogniser() {
      return recogniser?.current as SpeechRecogniser
    },
    url,
    write(path, content) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true })
      writeFileSync(join(workspace, path), content)
    },
    async post(path, body) {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const headers = { 'content-type': 'application/json' }
      return answer(await fetch(url(path), { method: 'POST', headers, body: text }))
    },
    async upload(...parts) {
      const form = new FormData()
      for (const [name, content, filename] of parts) {
        if (filename === undefined) form.append(name, content as string)
        else form.append(name, new Blob([content as Uint8Array<ArrayBuffer>]), filename)
      }
      return answer(await fetch(url('/api/audio/transcribe/upload'), { method: 'POST', body: form }))
    },
    reload: () => kernel.replace(definePlugin({ ...speech }) as Plugin),
    async close() {
      await kernel.close()
      rmSync(workspace, { recursive: true, force: true })
    }
  }
}
