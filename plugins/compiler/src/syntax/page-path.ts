/** Joins a path to its base: `/a` and `b`, or `/a` and `/a/b`, become `/a/b`. */
export function joinedPath(base: string, path: string): string {
  const own = `/${path.replace(/^\/+|\/+$/g, '')}`.replace(/\{([a-z_]\w*)\}|\$([a-z_]\w*)/gi, ':$1$2')
  const isWhole = base === '' || base === '/' || own === base || own.startsWith(`${base}/`)
  return isWhole ? own : own === '/' ? base : base + own
}
