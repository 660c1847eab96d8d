// Pulls org/model from a server into a folder, and prints the error, if any. Arguments: URL of the server, folder.
import { join } from 'node:path'
import { Catalogue } from '#catalogue'
import { Puller } from '#pull'

const [url = '', root = ''] = process.argv.slice(2)
const puller = new Puller({
  folder: join(root, 'models'),
  projectRoot: root,
  catalogue: new Catalogue(join(root, 'models.json'), {}, root, () => undefined),
  hubs: () => ({ huggingFace: new URL(url), huggingFaceToken: undefined, ollama: new URL(url) }),
  attempts: 3,
  delayMs: 1,
  stallMs: 60_000,
  unfinishedDays: () => 30
})
try {
  await puller.pull({ from: 'org/model', signal: new AbortController().signal, onEvent: () => undefined })
  process.stdout.write('{}')
} catch (error) {
  const { code, message } = error as { code: string; message: string }
  process.stdout.write(JSON.stringify({ code, message }))
}
