/** Adds payloads to the queue in `DIRECTORY` until it is killed; prints the id of each. `BYTES`: their size. */
import { Spool } from '#root'

const [directory = '', bytes = '100', count = 'Infinity'] = process.argv.slice(2)
const spool = new Spool(directory)
for (let index = 0; index < Number(count); index++) {
  try {
    const id = await spool.add(JSON.stringify({ index, text: 'x'.repeat(Number(bytes)) }))
    process.stdout.write(`${id}\n`)
  } catch (error) {
    process.stdout.write(`${(error as { code?: string }).code}\n`)
  }
}
