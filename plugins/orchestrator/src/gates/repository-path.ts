/** Normalises a path relative to the repository: forward slashes, no leading `./`. */
export function repositoryPath(path: string): string {
  return path
    .trim()
    .replaceAll('\\', '/')
    .replace(/^(?:\.\/)+/, '')
}
