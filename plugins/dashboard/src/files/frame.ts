import { createHash } from 'node:crypto'
import { dashboardErrors } from '../errors.ts'
import { framePolicy } from '../headers.ts'

/** Document of a frame, with the policy that pins its scripts. */
export interface FrameDocument {
  readonly html: string
  readonly policy: string
}

/** The exports of a module that esbuild wrote: one clause at the end, and maybe a comment with a source map. */
const EXPORTS = /\bexport\s*\{([^{}]*)\}\s*;?\s*(?:\/\/# [^\n]*\s*)?$/

/**
 * Returns the document that runs a module of an isolated plugin: the module is inline, since a frame without an origin can
 * load no files, and its `mount` is passed to the client of {@link FRAME_CLIENT}. Throws `DSH_ENTRY_BROKEN` if the module
 * exports no `mount`.
 */
export function frameDocument(module: string): FrameDocument {
  const code = withoutExports(module)
  const scripts = [FRAME_CLIENT, code]
  const html = [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">',
    `</head><body><div id="root"></div><script>${FRAME_CLIENT}</script><script type="module">${code}</script>`,
    '</body></html>\n'
  ].join('')
  return { html, policy: framePolicy(scripts.map(hashOf)) }
}

/** Replaces the export clause by a call that hands over `mount`, and text that would end the script element. */
function withoutExports(module: string): string {
  const clause = EXPORTS.exec(module)
  const names = (clause?.[1] ?? '').split(',').map(part => part.trim().split(/\s+as\s+/))
  const mount = names.find(([local, exported = local]) => exported === 'mount')?.[0]
  if (clause === null || mount === undefined)
    throw dashboardErrors.create('DSH_ENTRY_BROKEN', 'the page module exports no function mount', {
      hint: 'write export function mount(root, api) { … }'
    })
  const body = module.slice(0, clause.index)
  // Inside a script element, only these sequences have a meaning for the HTML parser. In strings, templates and regular
  // expressions of the module the escaped form means the same.
  return `${body};svcFrame(${mount})`.replaceAll(/<(?=\/script|!--)/gi, '\\x3C')
}

function hashOf(script: string): string {
  return createHash('sha256').update(script).digest('base64')
}

/**
 * Classic script in the frame. It receives `{ t: 'start', route, theme, may }` with a MessagePort from the page that embeds
 * it, and calls `mount` with a `ConsoleApi` over that port. `may`: operations that the session may call.
 *
 * Messages to the page: `call { id, operation, input }`, `watch { id, operation, input }`, `end { id }`, `navigate { to }`,
 * `failed { message }`. Messages from the page: `result { id, output }`, `event { id, event }`, `output { id, output }`,
 * `error { id, error }`, `close`.
 */
const FRAME_CLIENT = `(() => {
  'use strict'
  let mount, started, dispose, port, count = 0
  const running = new Map()
  const closing = new AbortController()
  const failure = ({ message, ...fields }) => Object.assign(new Error(message), fields)
  const send = (t, fields) => port.postMessage({ t, ...fields })
  const apiOf = ({ route, theme, may }) => ({
    call: (operation, input, { signal, onEvent } = {}) => new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const id = ++count
      running.set(id, {
        result: ({ output }) => { running.delete(id); resolve(output) },
        error: ({ error }) => { running.delete(id); reject(failure(error)) },
        event: ({ event }) => onEvent?.(event)
      })
      signal?.addEventListener('abort', () => {
        if (!running.delete(id)) return
        send('end', { id })
        reject(signal.reason)
      }, { once: true })
      send('call', { id, operation, input })
    }),
    watch: (operation, input, listener, onError) => {
      const id = ++count
      running.set(id, {
        output: ({ output }) => listener(output),
        error: ({ error }) => onError?.(failure(error))
      })
      send('watch', { id, operation, input })
      return () => { if (running.delete(id)) send('end', { id }) }
    },
    navigate: to => send('navigate', { to }),
    memory: new Map(), route, theme,
    may: operation => may.includes(operation),
    signal: closing.signal
  })
  const begin = () => {
    if (mount === undefined || started === undefined) return
    try {
      dispose = mount(document.getElementById('root'), apiOf(started))
    } catch (error) {
      send('failed', { message: String(error?.message ?? error) })
    }
  }
  const receive = ({ data }) => {
    if (data.t !== 'close') return running.get(data.id)?.[data.t]?.(data)
    closing.abort()
    dispose?.()
  }
  addEventListener('message', event => {
    if (event.source !== parent || event.data?.t !== 'start' || port !== undefined) return
    port = event.ports[0]
    port.onmessage = receive
    started = event.data
    document.documentElement.style.colorScheme = started.theme
    begin()
  })
  window.svcFrame = given => {
    if (mount !== undefined) return
    mount = given
    begin()
  }
})()`
