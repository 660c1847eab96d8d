/** Arguments of Node for a child process that runs a TypeScript source in the same way as the tests. */
export const CHILD_ARGUMENTS: readonly string[] = [
  '--import',
  new URL('./typescript.mjs', import.meta.url).href,
  '--conditions=svc-source'
]
