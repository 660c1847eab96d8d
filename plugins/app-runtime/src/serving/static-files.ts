import type { send as Send } from '@fastify/send'

let loading: Promise<{ readonly default: typeof Send }> | undefined

/** Finds the file for a request, with its headers. The library is loaded at the first request. */
export async function findFile(...args: Parameters<typeof Send>): ReturnType<typeof Send> {
  loading ??= import('@fastify/send')
  return (await loading).default(...args)
}
