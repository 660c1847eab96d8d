/** One form for a path that is relative to the repository: forward slashes, no `./` before it. */
export function repositoryPath(path: string): string {
  return path
    .trim()
    .replaceAll('\\', '/')
    .replace(/^(?:\.\/)+/, '')
}
