import { once } from 'node:events'
import { ownIdentity, presenceOf } from '@svc/contracts'
import { claim } from '#root'

// Claims the file in its argument after reading the line `go`, prints the owner and keeps running.
const path = process.argv[2] as string
process.stdout.write('ready\n')
await once(process.stdin, 'data')
const holder = await claim(path, JSON.stringify(ownIdentity()), async text => presenceOf(JSON.parse(text)) === 'alive')
process.stdout.write(`${holder === null ? 'mine' : JSON.parse(holder).pid}\n`)
