import { join } from 'node:path'
import { type HttpServer, httpServer } from '@svc/contracts'
import http from '@svc/plugin-http'
import onnx from '@svc/plugin-inference-onnx'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import plugin from '#plugin'

export const MODEL = join(import.meta.dirname, '../../inference-onnx/test/fixtures/llama-tiny-bf16')

/** Serves a small random model on a real socket, or the model of another engine. */
export async function openServer(t: Test, settings: object = {}, engine: Plugin = onnx as Plugin) {
  let server: HttpServer | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: httpServer },
    activate(_ctx, deps) {
      server = deps.server
    }
  })
  const kernel = await testKernel([engine, http, plugin, probe] as Plugin[], {
    settings: {
      http: { main: false },
      'inference-onnx': { device: 'cpu', threads: 1 },
      'execution-api': { port: 0, model: MODEL, ...settings }
    }
  })
  t.teardown(() => kernel.close())
  const url = server?.addresses[0]?.url ?? ''
  const post = (path: string, body: unknown, signal?: AbortSignal) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal !== undefined && { signal })
    })
  const json = async (path: string, body?: unknown) => {
    const response = await (body === undefined ? fetch(`${url}${path}`) : post(path, body))
    return { status: response.status, body: (await response.json()) as Record<string, any> }
  }
  const settled = async () => {
    for (;;) {
      const { status, body } = await json('/ready')
      if (status === 200 || body.reason !== 'the model is being loaded') return { status, body }
    }
  }
  return { url, post, json, settled }
}

/** Returns the events of a stream; `[DONE]` as null. */
export async function eventsOf(response: Response): Promise<(Record<string, any> | null)[]> {
  const lines = (await response.text()).split('\n').filter(line => line.startsWith('data: '))
  return lines.map(line => (line === 'data: [DONE]' ? null : JSON.parse(line.slice('data: '.length))))
}
