const LATEST = ':latest'

/** Returns a model name without the tag `latest`, which means the same as no tag. */
export function plainName(name: string): string {
  return name.endsWith(LATEST) ? name.slice(0, -LATEST.length) : name
}
