import { type HttpServer, httpServer, type KernelPort, kernelPort } from '@svc/contracts'
import http from '@svc/plugin-http'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import modelServer from '#plugin'

/** Starts the plugin with the engine of another plugin, on a real socket, until the test ends. */
export async function openServer(
  t: Test,
  plugins: readonly [engine: Plugin, ...others: Plugin[]],
  settings: Readonly<Record<string, unknown>>,
  others: Readonly<Record<string, object>> = {}
) {
  let found: HttpServer | undefined
  let kernelApi: KernelPort | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: httpServer, port: kernelPort },
    activate: (_ctx, { server, port }) => {
      found = server
      kernelApi = port
    }
  })
  const kernel = await testKernel([...plugins, modelServer, http, probe], {
    settings: { ...others, http: { main: false }, 'model-server': { port: 0, temperature: 0, ...settings } }
  })
  t.teardown(() => kernel.close())
  const url = found?.addresses[0]?.url ?? ''
  /** Sends `GET`, or `POST` if there is a body. */
  const json = async (path: string, body?: object) => {
    const options = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(`${url}${path}`, options)
    return { status: response.status, body: (await response.json()) as Record<string, any> }
  }
  const ready = async () => {
    while (!(await fetch(`${url}/ready`)).ok);
  }
  const port = () => kernelApi as KernelPort
  return { kernel, url, json, ready, port }
}
