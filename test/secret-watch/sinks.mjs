// Where data leaves a process: its output, responses of its servers, what its collectors receive, files, and arguments
// of its child processes.
import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { caller, isTestFile } from './frames.mjs'
import { registerHeaders } from './sources.mjs'

/** Paths at which a test's server receives what svc exports. */
const EXPORT_PATH = /^\/v1\/(?:traces|metrics|logs)$|telemetry|upload/
/** A secret that is split between two writes to a socket is found with the end of the earlier one. */
const MAX_TAIL_BYTES = 256

const testServer = Symbol('server of a test')
const request = Symbol('last request')
const tail = Symbol('end of the last write')

/** `isProduct`: whether standard output is the product's; that of a test process is the report of the tests. */
export function watchSinks(recorder, { root, isProduct, onOutput }) {
  const outputs = new Set(isProduct ? [1, 2] : [2])
  const output = (descriptor, data) => {
    if (descriptor === 1) onOutput?.(data)
    if (outputs.has(descriptor)) recorder.sink('output', descriptor === 1 ? 'stdout' : 'stderr', data)
  }
  watchDescriptors(output)
  watchSockets(recorder, output, root)
  watchServers(recorder)
}

function watchDescriptors(output) {
  for (const name of ['write', 'writeSync']) {
    const write = fs[name]
    fs[name] = function (descriptor, data, ...rest) {
      if (descriptor === 1 || descriptor === 2) output(descriptor, slice(data, rest))
      return Reflect.apply(write, this, [descriptor, data, ...rest])
    }
  }
  for (const name of ['writev', 'writevSync']) {
    const write = fs[name]
    fs[name] = function (descriptor, data, ...rest) {
      if (descriptor === 1 || descriptor === 2) output(descriptor, Buffer.concat(data))
      return Reflect.apply(write, this, [descriptor, data, ...rest])
    }
  }
}

/** Returns the part of the data that a call of `fs.write` writes. */
function slice(data, [offset, length]) {
  if (typeof data === 'string') return data
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const from = typeof offset === 'number' ? offset : (offset?.offset ?? 0)
  const size = typeof length === 'number' ? length : (offset?.length ?? bytes.length - from)
  return bytes.subarray(from, from + size)
}

function watchSockets(recorder, output, root) {
  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function (...args) {
    this[testServer] ??= isTestFile(caller(root))
    return Reflect.apply(listen, this, args)
  }
  // All streams of Node that are sockets or pipes write here: HTTP, WebSockets, sockets of the daemon, standard output.
  const { _writeGeneric: write } = net.Socket.prototype
  net.Socket.prototype._writeGeneric = function (isVector, data, encoding, callback) {
    const isServed = this.server instanceof net.Server && this.server[testServer] === false
    if (this._isStdio || isServed) {
      const bytes = isVector
        ? Buffer.concat(data.map(({ chunk, encoding }) => bytesOf(chunk, encoding)))
        : bytesOf(data, encoding)
      if (this._isStdio) output(this.fd, bytes)
      else {
        recorder.sink('response', this[request] ?? 'a socket', Buffer.concat([this[tail] ?? Buffer.alloc(0), bytes]))
        this[tail] = bytes.subarray(-MAX_TAIL_BYTES)
      }
    }
    return Reflect.apply(write, this, [isVector, data, encoding, callback])
  }
}

function bytesOf(chunk, encoding) {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
}

function watchServers(recorder) {
  for (const { Server } of [http, https]) {
    const { emit } = Server.prototype
    Server.prototype.emit = function (event, message, ...rest) {
      if (event === 'request' || event === 'upgrade' || event === 'checkContinue') {
        registerHeaders(recorder, message.headers)
        const [path] = (message.url ?? '').split('?')
        message.socket[request] = `${message.method} ${path}`
        message.socket[tail] = undefined
        if (this[testServer] !== false && EXPORT_PATH.test(path)) watchBody(recorder, message, path)
      }
      return Reflect.apply(emit, this, [event, message, ...rest])
    }
  }
}

/** Records a request's body without reading it, which would take it from the server. */
function watchBody(recorder, message, path) {
  const { push } = message
  message.push = function (chunk, encoding) {
    if (chunk !== null) recorder.sink('export', `POST ${path}`, bytesOf(chunk, encoding))
    return Reflect.apply(push, this, [chunk, encoding])
  }
}
