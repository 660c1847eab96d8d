import { parentPort, workerData } from 'node:worker_threads'
import { syntaxProblems } from './syntax-problems.ts'
import type { SyntaxJob } from './syntax-thread.ts'

if (parentPort === null) throw new Error('this program runs as a worker thread')
const { language, text } = workerData as SyntaxJob
parentPort.postMessage(syntaxProblems(language, text))
