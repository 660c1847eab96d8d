// Replaces the package async-hook-domain, with which tap finds the test that an uncaught error belongs to. The package
// records every promise until it is destroyed, which takes up to half of the time of a test with many promises. Here,
// the test is part of the asynchronous context.
import { AsyncLocalStorage } from 'node:async_hooks'

const context = new AsyncLocalStorage()
const live = new Set()
const { emit } = process

export class Domain {
  destroyed = false

  /** `onerror` receives uncaught errors of the current asynchronous context, and of all that it starts. */
  constructor(onerror) {
    this.onerror = onerror
    this.parent = context.getStore()
    context.enterWith(this)
    if (live.size === 0) activate()
    live.add(this)
  }

  /** Passes later errors to the domain around this one. */
  destroy() {
    this.destroyed = true
    live.delete(this)
    if (live.size === 0) deactivate()
  }
}

function activate() {
  process.on('uncaughtExceptionMonitor', onError)
  process.emit = emitOrHandle
}

function deactivate() {
  process.removeListener('uncaughtExceptionMonitor', onError)
  process.emit = emit
}

/** Handles a rejection without a listener, so that Node does not see it as handled if there is no domain. */
function emitOrHandle(event, ...values) {
  if (event !== 'unhandledRejection' || process.listenerCount(event) > 0) return emit.call(process, event, ...values)
  return isHandled(values[0], event)
}

function onError(error, origin) {
  if (!isHandled(error, origin)) return
  // Node ends the process after this event unless there is a callback.
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null))
}

function isHandled(error, origin) {
  // Another handler is responsible.
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return false
  let domain = context.getStore()
  while (domain?.destroyed) domain = domain.parent
  if (domain === undefined) return false
  try {
    domain.onerror(error, origin)
    return true
  } catch (thrown) {
    domain.destroy()
    if (isHandled(thrown)) return true
    throw thrown
  }
}
