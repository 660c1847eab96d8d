/** Arguments of Node for a child process that runs a TypeScript source, in one bundle with all that it imports. */
export const CHILD_ARGUMENTS: readonly string[] = [
  '--import',
  new URL('./bundled.mjs', import.meta.url).href,
  '--conditions=svc-source'
]
