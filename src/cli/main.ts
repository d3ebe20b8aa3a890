#!/usr/bin/env node
import { runCli } from './program.ts';

await runCli(process.argv);
