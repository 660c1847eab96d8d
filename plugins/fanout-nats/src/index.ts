export { connectOptions } from './connect-options.ts'
export { NatsFanout } from './nats-fanout.ts'
