import { register } from 'node:module'

/**
 * Like `module.register()`, without the warning of Node 26 that it is deprecated, which children of tests would print.
 * `module.registerHooks()` is missing in Node 20, and takes no asynchronous hooks, which esbuild needs.
 */
export function registerHooks(...parameters) {
  const { noDeprecation } = process
  process.noDeprecation = true
  try {
    register(...parameters)
  } finally {
    process.noDeprecation = noDeprecation
  }
}
