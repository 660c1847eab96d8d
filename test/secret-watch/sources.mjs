// Where secrets come from. Every value is registered at a function of Node through which it must pass, so that built
// and bundled programs are watched without a change.
import crypto from 'node:crypto'
import fs from 'node:fs'
import { basename } from 'node:path'
import { caller, nearest } from './frames.mjs'

const SECRET_VARIABLE = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$/
const SECRET_HEADER =
  /^(?:(?:proxy-)?authorization|(?:x-)?(?:[a-z]+-)?(?:api-key|token|access-token|auth-token)|x-goog-api-key)$/
/** Files that contain secrets, by their names. */
export const SECRET_FILE = /^(?:auth\.json|auth_token|mesh\.env|\.env)$/
/** Random bytes of this number or more are a key or a token. Fewer name a file or an event. */
const MIN_TOKEN_BYTES = 16
/** Cookies with shorter values are preferences. */
const MIN_COOKIE_CHARS = 16

/** Replaces functions of node:crypto and node:fs by ones that register secrets with `recorder`. */
export function watchSources(recorder, root) {
  watchRandomBytes(recorder, root)
  watchCiphers(recorder, root)
  watchFiles(recorder)
}

function watchRandomBytes(recorder, root) {
  const { randomBytes } = crypto
  const register = (bytes, from) => recorder.secretBytes(`random bytes of ${from}`, bytes)
  crypto.randomBytes = function (...args) {
    const [size, callback] = args
    // Libraries create ids of connections and of files.
    if (size < MIN_TOKEN_BYTES || nearest().includes('/node_modules/')) return Reflect.apply(randomBytes, this, args)
    const from = caller(root)
    if (typeof callback !== 'function') {
      const bytes = randomBytes(size)
      register(bytes, from)
      return bytes
    }
    return randomBytes(size, (error, bytes) => {
      if (error === null) register(bytes, from)
      callback(error, bytes)
    })
  }
}

/** Registers plaintexts and keys of ciphers. */
function watchCiphers(recorder, root) {
  const isOwn = () => !nearest().includes('/node_modules/')
  for (const name of ['createCipheriv', 'createDecipheriv']) {
    const create = crypto[name]
    crypto[name] = function (algorithm, key, ...rest) {
      const cipher = Reflect.apply(create, this, [algorithm, key, ...rest])
      if (!isOwn()) return cipher
      const from = `${name === 'createCipheriv' ? 'encrypted' : 'decrypted'} by ${caller(root)}`
      if (ArrayBuffer.isView(key)) recorder.secretBytes(`key of what is ${from}`, key)
      const { update } = cipher
      cipher.update = function (data, ...encodings) {
        const output = Reflect.apply(update, this, [data, ...encodings])
        register(recorder, from, name === 'createCipheriv' ? data : output)
        return output
      }
      return cipher
    }
  }
}

function register(recorder, name, value) {
  if (typeof value === 'string') recorder.secret(name, value)
  else if (ArrayBuffer.isView(value)) {
    recorder.secret(name, value)
    recorder.secretBytes(name, value)
  }
}

function watchFiles(recorder) {
  const look = (path, content) => {
    if (typeof path !== 'string' || !SECRET_FILE.test(basename(path))) return
    registerFile(recorder, path, content)
  }
  const { readFileSync, promises, writeFileSync } = fs
  const { readFile } = promises
  fs.readFileSync = function (path, ...rest) {
    const content = Reflect.apply(readFileSync, this, [path, ...rest])
    look(path, content)
    return content
  }
  promises.readFile = async function (path, ...rest) {
    const content = await Reflect.apply(readFile, this, [path, ...rest])
    look(path, content)
    return content
  }
  fs.writeFileSync = function (path, content, ...rest) {
    look(path, content)
    return Reflect.apply(writeFileSync, this, [path, content, ...rest])
  }
}

/** Registers the secrets of a file whose purpose is to hold them. */
export function registerFile(recorder, path, content) {
  const text = Buffer.from(content).toString('utf8')
  const name = basename(path)
  if (name === 'auth_token') recorder.secret(name, text.trim())
  else if (name === 'auth.json') {
    for (const [, token] of text.matchAll(/"token"\s*:\s*("(?:[^"\\]|\\.)*")/g)) recorder.secret(name, parsed(token))
  } else {
    for (const [, variable, value] of text.matchAll(/^\s*(?:export\s+)?(\w+)\s*=\s*(.*)$/gm))
      if (SECRET_VARIABLE.test(variable))
        recorder.secret(`${variable} of ${name}`, value.trim().replace(/^(['"])(.*)\1$/, '$2'))
  }
}

function parsed(json) {
  try {
    return JSON.parse(json)
  } catch {
    return ''
  }
}

/** Registers the credentials of a request that a server received. */
export function registerHeaders(recorder, headers) {
  for (const [name, given] of Object.entries(headers)) {
    const value = String(given)
    if (name === 'cookie') {
      for (const [, cookie, text] of value.matchAll(/([^=;\s]+)=([^;]*)/g))
        if (text.length >= MIN_COOKIE_CHARS) recorder.secret(`cookie ${cookie}`, text)
    } else if (SECRET_HEADER.test(name)) {
      const [, scheme, rest] = /^(?:(Basic|Bearer|Token)\s+)?(.*)$/i.exec(value) ?? []
      const isBasic = scheme?.toLowerCase() === 'basic'
      recorder.secret(`header ${name}`, isBasic ? passwordOf(rest) : (rest ?? ''))
    }
  }
}

function passwordOf(basic) {
  const text = Buffer.from(basic, 'base64').toString('utf8')
  return text.slice(text.indexOf(':') + 1)
}

/** Registers variables with the names of secrets that a child process has and its parent lacks. */
export function registerEnvironment(recorder, pairs) {
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
    if (SECRET_VARIABLE.test(name) && process.env[name] !== value) recorder.secret(`variable ${name}`, value)
  }
}
