/** Arguments of Node for a child process that runs a source, as tests themselves are run. */
export const CHILD_ARGUMENTS: readonly string[] = [
  '--import',
  new URL('./typescript.mjs', import.meta.url).href,
  '--conditions=svc-source'
]
